"""Minibatches of a round, as GradientSteps."""

from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.prefetch import prefetch
from sparkdl.data.transforms import in_training
from sparkdl.nn.inputs.tbptt import chunks
from sparkdl.training.resident.strategy import GradientStep
from sparkdl.training.rounds.minibatches import minibatches, records, time_items


def steps_of(shared, cache, number, part, worker):
    """Yields the steps of a block in an order given by seed and epoch; none if `number` is None.

    `part` selects the block's minibatches.
    """
    if number is None:
        return
    block, master, seed = cache.block(number), shared.master, shared.schedule.seed
    order = permutation(seed, worker.epoch, number, n=len(block))
    order = order[records(part, master.batch_size_per_worker)]
    transform = in_training(shared.transform, seed, worker.epoch, worker.replica.decodes)
    batches = minibatches(block, order, master.batch_size_per_worker, transform, shared.conf)
    batches = prefetch(batches, master.prefetch)
    try:
        for batch, waited in time_items(batches):
            worker.metrics.reading += waited
            for chunk in chunks(shared.conf, batch):
                yield GradientStep(*chunk)
    finally:
        batches.close()


def lockstep(steps, shared, part, worker):
    """Yields the steps, then None until no worker has any left.

    The number of steps is known beforehand. With tbptt it also depends on the records, so workers
    agree before each step.
    """
    if shared.conf.tbptt is not None:
        while worker.maximum((step := next(steps, None)) is not None):
            yield step
        return
    for _ in range(part.start, part.stop):
        yield next(steps, None)
