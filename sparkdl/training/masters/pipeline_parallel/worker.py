"""Strategy of PipelineParallel in a worker: one stage, for the microbatches of all workers."""

from contextlib import contextmanager

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.execution.stage_replica import StageReplica
from sparkdl.training.masters.divided_state import EMPTY, PARAMS, SLOTS
from sparkdl.training.masters.pipeline_parallel.batch_exchange import BatchExchange
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of
from sparkdl.training.masters.pipeline_parallel.stage_pass import StagePass
from sparkdl.training.resident.strategy import Strategy


class PipelineWorker(Strategy):
    """Strategy of PipelineParallel in a worker.

    Ranks one behind the other are a pipeline; what has the same stage in several sums gradients.
    """

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self.stages = stages_of(worker.conf, master.stages, worker.size)
        count, group = len(self.stages), worker.group
        self.pipe, self.same_stage = group, None
        if count < worker.size:
            self.pipe = group.split(worker.rank // count, master.shared_memory)
            self.same_stage = group.split(worker.rank % count, master.shared_memory)
        self.stage = self.stages[self.pipe.rank]
        self._batches = BatchExchange(worker, self.pipe, self.stages, master.microbatches)
        self._pass = StagePass(worker, self.pipe, self.stage)
        self._own_buffers = numbers_of(worker.conf.buffers_layout, self.stage)

    def round(self, steps):
        trained = np.zeros(2, np.int64)  # by this pipeline, by all
        for step in steps:
            trained += self._update(step)
        self._share_buffers(*trained)

    def _update(self, step):
        """Updates all workers once; returns the examples of the pipeline, and of all."""
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
        """Gives all workers the buffers of all stages, of several pipelines the weighted mean."""
        buffers = self.worker.replica.buffers
        if not len(buffers):
            return
        with self.worker.exchanging(), np.errstate(all="ignore"):
            weighted = buffers * np.float32(examples / total)
            everyone = np.where(self._own_buffers, weighted, np.float32(0))
            np.copyto(buffers, self.worker.group.all_reduce(everyone))

    def state(self):
        return {"params": EMPTY, "buffers": self.worker.replica.buffers, "slots": EMPTY}

    def worker_state(self):
        """Returns what the stage has; of further pipelines nothing, as theirs is the same."""
        replica = self.worker.replica
        if self.worker.rank < len(self.stages):
            return {PARAMS: replica.params, SLOTS: replica.slots}
        return {PARAMS: EMPTY, SLOTS: EMPTY}

    @contextmanager
    def in_use(self):
        """Gives a replica of the whole network, with the parameters of all stages."""
        replica = self.worker.replica
        whole = make_replica(self.worker.conf, replica.backend)
        params = whole.params
        with self.worker.exchanging():
            for number, stage in enumerate(self.stages):
                if stage is self.stage:
                    params[stage.section.part] = replica.params
                self.pipe.broadcast(params[stage.section.part], number)
        whole.buffers = replica.buffers
        yield whole


def numbers_of(layout, stage):
    """Returns which numbers (n,) of the buffers belong to layers of a stage."""
    names = {place.name for place in stage.stack}
    own = np.zeros(layout.size, bool)
    for name, part in layout.split_by_layer.items():
        own[part] = name in names
    return own


def stage_replica(master, setup, group, share):
    """Returns the replica of a worker's stage; ConfigError on a GPU."""
    backend = choose_backend(master.device, master.backend)
    if backend == "cuda":
        raise ConfigError(
            "PipelineParallel.device must be 'cpu' where there is a GPU, got "
            f"{master.device!r}; its stages compute on processors as yet"
        )
    stages = stages_of(setup.conf, master.stages, group.size)
    stage = stages[group.rank % len(stages)]
    vectors = share[PARAMS], share[SLOTS], setup.state.buffers
    return StageReplica(setup.conf, stage, *vectors, backend, master.recompute)
