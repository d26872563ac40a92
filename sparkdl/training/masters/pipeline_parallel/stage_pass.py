"""Forward and backward passes of an update's microbatches through a stage."""

from functools import lru_cache, partial

from sparkdl.nn.execution.batch_tensors import EPOCH, IDS
from sparkdl.nn.execution.recurrent_states import carry, state_columns
from sparkdl.nn.execution.stage_program import GRADIENT, LOSS, MASK, SCALE, VALUE
from sparkdl.nn.execution.value_shapes import trace_values
from sparkdl.nn.inputs.columns import mask_of
from sparkdl.training.masters.pipeline_parallel.passage import Passage
from sparkdl.training.masters.pipeline_parallel.schedule import FORWARD, one_forward_one_backward

VALUES, GRADIENTS = 2, 3  # tags of messages between stages
KEPT = 64  # microbatch shapes whose boundary shapes are cached


class StagePass:
    """Runs microbatches through a worker's stage.

    Parameters
    ----------
    worker : Worker
        With a StageReplica.
    pipe : Group
        The workers of one pipeline, by stage.
    stage : Stage
    """

    def __init__(self, worker, pipe, stage):
        self.worker, self.pipe, self.stage = worker, pipe, stage
        self._boundaries = lru_cache(KEPT)(partial(boundary_shapes, worker.conf, stage))
        self._states = {}  # {place of a Microbatch: states of the stage's recurrent layers}

    def run(self, microbatches, scale):
        """Adds the gradients of microbatches to the replica's; losses are multiplied by `scale`."""
        under_way, neighbors = {}, self._passages(microbatches)
        order = one_forward_one_backward(self.pipe.rank, self.pipe.size, len(microbatches))
        for way, number in order:
            if way is FORWARD:
                under_way[number] = self._forward(number, microbatches[number], scale, neighbors)
            else:
                self._backward(number, under_way.pop(number), neighbors)
        with self.worker.exchanging():
            for passage in neighbors.values():
                passage.settle()

    def _passages(self, microbatches):
        """Returns {name: Passage} to and from the existing neighbors."""
        before, behind = self.pipe.rank - 1, self.pipe.rank + 1
        bounds = [self._boundaries(part.shapes) for part in microbatches]
        names = ("values in", before, VALUES), ("values out", behind, VALUES)
        names += ("gradients in", behind, GRADIENTS), ("gradients out", before, GRADIENTS)
        return {
            name: Passage(self.pipe, peer, tag, [bound[name] for bound in bounds])
            for name, peer, tag in names
            if 0 <= peer < self.pipe.size
        }

    def _forward(self, number, microbatch, scale, neighbors):
        """Runs the forward pass of a microbatch; returns its pending run."""
        with self.worker.exchanging():
            columns = microbatch.columns()
            feeds = self._values(number, columns, neighbors)
        states, n = self._states_of(microbatch), len(columns[IDS])
        feeds |= {name: columns[name] for name in columns if name not in self._read_first}
        feeds |= state_columns(self.stage, states, n)
        feeds |= {EPOCH: self.worker.epoch, SCALE: scale}
        run, outputs = self.worker.replica.begin(feeds)
        if "values out" in neighbors:
            neighbors["values out"].send(number, outputs)
        carry(states, outputs, n)
        if LOSS in outputs:
            self.worker.metrics.loss += microbatch.minibatch.share * float(outputs[LOSS])
        return run

    def _backward(self, number, run, neighbors):
        """Runs the backward pass of a microbatch."""
        feeds = {}
        if "gradients in" in neighbors:
            with self.worker.exchanging():
                feeds = neighbors["gradients in"].receive(number)
        outputs = self.worker.replica.finish(run, feeds)
        if "gradients out" in neighbors:
            neighbors["gradients out"].send(number, outputs)

    @property
    def _read_first(self):
        """The columns of values and masks that the first stage reads."""
        columns = self.worker.conf.feature_columns
        return {*columns, *map(mask_of, columns)}

    def _values(self, number, columns, neighbors):
        """Returns {input: array} of values and masks, from the columns or the previous stage."""
        if "values in" in neighbors:
            return neighbors["values in"].receive(number)
        features = self.worker.conf.feature_columns.items()
        values = {VALUE + name: columns[column] for column, name in features}
        masks = {MASK + name: mask_of(column) for column, name in features}
        return values | {name: columns[c] for name, c in masks.items() if c in columns}

    def _states_of(self, microbatch):
        """Returns the states that recurrent layers continue from, updated in place; None without
        tbptt.
        """
        if self.worker.conf.tbptt is None:
            return None
        if microbatch.minibatch.begins:
            self._states[microbatch.place] = {}
        return self._states[microbatch.place]


def boundary_shapes(conf, stage, shapes):
    """Returns {passage: {name: shape}} of the arrays that a microbatch sends across boundaries."""
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
