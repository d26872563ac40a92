"""Strategy of PipelineParallel in a worker: its stage of the network, on the microbatches of all."""

from contextlib import contextmanager
from functools import lru_cache, partial

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.recurrent_states import carry, state_columns
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.execution.stage_program import GRADIENT, LOSS, MASK, SCALE, VALUE
from sparkdl.nn.execution.stage_replica import StageReplica
from sparkdl.nn.execution.value_shapes import trace_values
from sparkdl.nn.inputs.columns import mask_of
from sparkdl.training.masters.pipeline_parallel.batch_exchange import IDS, BatchExchange
from sparkdl.training.masters.pipeline_parallel.cuts import stages_of
from sparkdl.training.masters.pipeline_parallel.division import EMPTY, PARAMS, SLOTS
from sparkdl.training.masters.pipeline_parallel.passage import Passage
from sparkdl.training.masters.pipeline_parallel.schedule import FORWARD, one_forward_one_backward
from sparkdl.training.resident.strategy import Strategy

VALUES, GRADIENTS = 2, 3  # tags of messages between stages
KEPT = 64  # shapes of microbatches whose boundaries are remembered


class PipelineWorker(Strategy):
    """Strategy of PipelineParallel in a worker."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self.stages = stages_of(worker.conf, master.stages, worker.size)
        count, group = len(self.stages), worker.group
        self.pipe, self.twins = group, None
        if count < worker.size:
            self.pipe = group.split(worker.rank // count, master.shared_memory)
            self.twins = group.split(worker.rank % count, master.shared_memory)
        self.stage = self.stages[self.pipe.rank]
        self._states = {}  # {place of a Microbatch: states of this stage's layers}
        self._batches = BatchExchange(worker, self.pipe, self.stages, master.microbatches)
        self._boundaries = lru_cache(KEPT)(partial(boundary_shapes, worker.conf, self.stage))
        own = {name for place in self.stage.stack for name in buffer_names(place)}
        self._own_buffers = np.zeros(worker.conf.buffers_layout.size, bool)
        for name, part in worker.conf.buffers_layout.slices.items():
            self._own_buffers[part] = name in own

    def round(self, steps):
        trained = np.zeros(2, np.int64)  # by this pipeline, by all
        for step in steps:
            trained += self._update(step)
        self._share_buffers(*trained)

    def _update(self, step):
        """Updates all workers once; returns the examples of the pipeline, and of all."""
        worker = self.worker
        with worker.exchanging():
            microbatches, examples, pending = self._batches.exchange(step)
        if step is not None:
            worker.count(step, 0.0, len(step.batch))
        worker.replica.grad[...] = 0
        self._run(microbatches, 1 / examples[1])
        with worker.exchanging():
            for sent in pending:
                sent.wait()
            if self.twins is not None:
                self.twins.all_reduce(worker.replica.grad)
        worker.apply(conf=self.stage.section)
        return examples

    def _run(self, microbatches, scale):
        """Takes microbatches through the stage, forward and back."""
        under_way, neighbors = {}, self._passages(microbatches)
        for way, number in one_forward_one_backward(
            self.pipe.rank, len(self.stages), len(microbatches)
        ):
            if way is FORWARD:
                under_way[number] = self._forward(number, microbatches[number], scale, neighbors)
            else:
                self._backward(number, under_way.pop(number), neighbors)
        with self.worker.exchanging():
            for passage in neighbors.values():
                passage.settle()

    def _passages(self, microbatches):
        """Returns {name: Passage} to and from the neighbors that there are."""
        rank, size = self.pipe.rank, len(self.stages)
        bounds = [self._boundaries(part.shapes) for part in microbatches]
        names = ("values in", rank - 1, VALUES), ("values out", rank + 1, VALUES)
        names += ("gradients in", rank + 1, GRADIENTS), ("gradients out", rank - 1, GRADIENTS)
        return {
            name: Passage(self.pipe, peer, tag, [bound[name] for bound in bounds])
            for name, peer, tag in names
            if 0 <= peer < size
        }

    def _forward(self, number, microbatch, scale, neighbors):
        """Takes a microbatch forward; returns the program that it is in."""
        with self.worker.exchanging():
            columns = microbatch.columns()
            feeds = self._features(columns)
            if "values in" in neighbors:
                feeds = neighbors["values in"].receive(number)
        feeds |= {n: columns[n] for n in columns if n not in self._feature_columns()}
        states = self._states_of(microbatch)
        feeds |= state_columns(self.stage, states, len(columns[IDS]))
        feeds |= {"epoch": self.worker.epoch, SCALE: scale}
        program, outputs = self.worker.replica.begin(feeds)
        if "values out" in neighbors:
            neighbors["values out"].send(number, outputs)
        carry(states, outputs, len(columns[IDS]))
        if LOSS in outputs:
            self.worker.metrics.loss += microbatch.minibatch.share * float(outputs[LOSS])
        return program

    def _states_of(self, microbatch):
        """Returns what recurrent layers go on from, to be filled; None without tbptt."""
        if self.worker.conf.tbptt is None:
            return None
        if microbatch.minibatch.begins:
            self._states[microbatch.place] = {}
        return self._states[microbatch.place]

    def _backward(self, number, program, neighbors):
        """Takes a microbatch back."""
        feeds = {}
        if "gradients in" in neighbors:
            with self.worker.exchanging():
                feeds = neighbors["gradients in"].receive(number)
        outputs = self.worker.replica.finish(program, feeds)
        if "gradients out" in neighbors:
            neighbors["gradients out"].send(number, outputs)

    def _features(self, columns):
        """Returns {input of the first stage's program: array}; {} of another stage."""
        features = {}
        for column, name in self.worker.conf.feature_columns.items():
            for prefix, key in ((VALUE, column), (MASK, mask_of(column))):
                if self.pipe.rank == 0 and key in columns:
                    features[prefix + name] = columns[key]
        return features

    def _feature_columns(self):
        columns = self.worker.conf.feature_columns
        return {*columns, *map(mask_of, columns)}

    def _share_buffers(self, examples, total):
        """Gives all workers the buffers of all stages, of several pipelines the weighted mean."""
        buffers = self.worker.replica.buffers
        if not len(buffers):
            return
        with self.worker.exchanging(), np.errstate(all="ignore"):
            share = buffers * np.float32(examples / total)
            everyone = np.where(self._own_buffers, share, np.float32(0))
            np.copyto(buffers, self.worker.group.all_reduce(everyone))

    def state(self):
        return {"params": EMPTY, "buffers": self.worker.replica.buffers, "slots": EMPTY}

    def worker_state(self):
        """Returns what the stage has; of further pipelines nothing, as theirs is the same."""
        replica = self.worker.replica
        first = self.worker.rank < len(self.stages)
        return {PARAMS: replica.params, SLOTS: replica.slots} if first else NOTHING

    @contextmanager
    def in_use(self):
        """Gives a replica of the whole network, with the parameters of all stages."""
        worker, conf = self.worker, self.worker.conf
        whole = make_replica(conf, worker.replica.backend)
        with worker.exchanging():
            for number, stage in enumerate(self.stages):
                if stage is self.stage:
                    whole.params[stage.section.part] = worker.replica.params
                self.pipe.broadcast(whole.params[stage.section.part], number)
        whole.buffers = worker.replica.buffers
        yield whole


NOTHING = {PARAMS: EMPTY, SLOTS: EMPTY}


def boundary_shapes(conf, stage, shapes):
    """Returns {passage: {name: shape}} of what a microbatch of these columns takes across."""
    values, masks = trace_values(conf, shapes)

    def forward(names):
        found = {VALUE + name: values[name].shape for name in names}
        return found | {MASK + n: masks[n].shape for n in names if masks.get(n) is not None}

    def back(names):
        return {GRADIENT + name: values[name].shape for name in names}

    return {
        "values in": forward(stage.reads),
        "values out": forward(stage.gives),
        "gradients in": back(stage.passed),
        "gradients out": back(stage.moved),
    }


def buffer_names(place):
    """Returns the names of a layer's buffers in the network's layout."""
    return (f"{place.name}/{name}" for name in place.buffer_shapes)


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
    return StageReplica(setup.conf, stage, *vectors, backend)
