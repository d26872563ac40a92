"""Strategy of PipelineParallel in a worker: one stage, for the microbatches of its pipeline."""

import numpy as np

from sparkdl.nn.execution.stage_replica import StageReplica
from sparkdl.training.masters.divided_state import PARAMS, SLOTS
from sparkdl.training.masters.divided_worker import DividedWorker
from sparkdl.training.masters.pipeline_parallel.batch_exchange import BatchExchange
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of
from sparkdl.training.masters.pipeline_parallel.stage_pass import StagePass
from sparkdl.training.resident.buffer_mean import mean_buffers


class PipelineWorker(DividedWorker):
    """Strategy of PipelineParallel in a worker.

    Consecutive ranks form a pipeline; workers with the same stage of different pipelines sum
    gradients.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self.stages = stages_of(worker.conf, master.stages, worker.size)
        self.network_size = count = len(self.stages)
        group = worker.group
        self.pipe, self.same_stage = group, None
        if count < worker.size:
            self.pipe = group.split(worker.rank // count, master.shared_memory)
            self.same_stage = group.split(worker.rank % count, master.shared_memory)
        self.stage = self.stages[self.pipe.rank]
        self._batches = BatchExchange(worker, self.pipe, self.stages, master.microbatches)
        self._pass = StagePass(worker, self.pipe, self.stage)
        self._own_buffers = numbers_of(worker.conf.buffers_layout, self.stage)

    def round(self, steps):
        trained = np.zeros(2, np.int64)  # examples of this pipeline, and of all
        for step in steps:
            trained += self._update(step)
        self._share_buffers(*trained)

    def _update(self, step):
        """Makes one update on all workers; returns the examples of the pipeline, and of all."""
        worker = self.worker
        with worker.exchanging():
            microbatches, examples, sending = self._batches.exchange(step)
        if step is not None:
            worker.count(step, 0.0, len(step.batch))
        worker.replica.grad[...] = 0
        self._pass.run(microbatches, 1 / examples[1])
        with worker.exchanging():
            for pending in sending:
                pending.wait()
            if self.same_stage is not None:
                self.same_stage.all_reduce(worker.replica.grad)
        worker.apply(conf=self.stage.section)
        return examples

    def _share_buffers(self, examples, total):
        """Gives all workers the buffers of all stages, averaged over pipelines by examples."""
        mean_buffers(self.worker, examples / total, self._own_buffers)

    def gather(self, params):
        for number, stage in enumerate(self.stages):
            if stage is self.stage:
                params[stage.section.part] = self.worker.replica.params
            self.pipe.broadcast(params[stage.section.part], number)


def numbers_of(layout, stage):
    """Returns a mask (n,) of the buffer numbers that belong to layers of a stage."""
    names = {place.name for place in stage.stack}
    own = np.zeros(layout.size, bool)
    for name, part in layout.split_by_layer.items():
        own[part] = name in names
    return own


def stage_replica(master, setup, group, share):
    """Returns the replica of a worker's stage; raises ConfigError on a GPU."""
    backend = master.processor()
    stages = stages_of(setup.conf, master.stages, group.size)
    stage = stages[group.rank % len(stages)]
    vectors = share[PARAMS], share[SLOTS], setup.state.buffers
    return StageReplica(setup.conf, stage, *vectors, backend, master.recompute)
