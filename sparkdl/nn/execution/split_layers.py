"""Layers split among workers, each of which has some of the units, inputs or heads."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.ops.collective import (
    copy_to,
    gather_from,
    maximum_from,
    own_part,
    reduce_from,
)
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.losses.base import count_labels
from sparkdl.nn.networks.layer_splits import Split


class SplitLayer:
    """The part of a layer that this worker has; all other attributes are those of the layer.

    Parameters
    ----------
    whole : Layer
    group : see engine/ops/collective.py
        `rank` and `size` suffice if only shapes are needed.

    Attributes
    ----------
    local : Layer
        The layer with the options of the part.
    """

    def __init__(self, whole, group):
        self.whole, self.group = whole, group
        self.local = self.localize()

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def localize(self):
        return self.whole

    def param_shapes(self, in_shape):
        return self.local.param_shapes(in_shape)


class SplitColumns(SplitLayer):
    """A product of which this worker has some columns; it outputs their units only."""

    def localize(self):
        return replace(self.whole, units=self.whole.units // self.group.size)

    def forward(self, params, x, run):
        return self.local.forward(params, copy_to(x, self.group), run)


class GatheredColumns(SplitColumns):
    """A product of which this worker has some columns; it outputs all units."""

    def forward(self, params, x, run):
        return gather_from(super().forward(params, x, run), self.group)


class SplitClasses(SplitColumns):
    """An Output of which this worker has some classes; z stays split."""

    @property
    def loss(self):
        return SplitSoftmax(self.whole.loss, self.group)

    def per_example(self, z, labels, mask=None):
        """See ScoredLayer.per_example; z is this worker's part."""
        return ScoredLayer.per_example(self, z, labels, mask)


class SplitInside(SplitLayer):
    """An elementwise layer on this worker's units."""

    def forward(self, params, x, run):
        return self.whole.forward(params, x, run_part(run, self.group, axis=-1))


class SplitRows(SplitLayer):
    """A product of which this worker has some inputs; all workers get the sum."""

    def param_shapes(self, in_shape):
        *steps, width = in_shape
        return self.whole.param_shapes((*steps, width // self.group.size))

    def forward(self, params, x, run):
        rows = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), params["W"])
        rows = reduce_from(rows, self.group)
        rows = ops.add_bias(rows, params["b"], -1) if "b" in params else rows
        rows = self.whole.activate(rows) if hasattr(self.whole, "activate") else rows
        return ops.reshape(rows, (*x.shape[:-1], rows.shape[-1]))


class SplitHeads(SplitLayer):
    """An attention layer of which this worker has some heads; all workers get the summed output."""

    def part_of(self, queries):
        """Returns the layer with this worker's heads, whose width depends on the queries (T, F)."""
        size, units = self.whole.width(queries) // self.whole.heads, self.whole.units or queries[1]
        heads = self.whole.heads // self.group.size
        return replace(self.whole, heads=heads, head_size=size, units=units)

    def param_shapes(self, in_shape):
        return self.part_of(queries_of(in_shape)).param_shapes(in_shape)

    def forward(self, params, x, run):
        queries = queries_of(x).shape[1:]
        own = {name: value for name, value in params.items() if name != "bo"}
        if "Q" in own:
            own["Q"] = copy_to(own["Q"], self.group)
        run = run_part(run, self.group, axis=0)
        y = self.part_of(queries).forward(own, copies(x, self.group), run)
        y = reduce_from(y, self.group)
        return ops.add_bias(y, params["bo"], -1) if "bo" in params else y


def queries_of(inputs):
    """Returns the first of several inputs or shapes, or the only one."""
    several = isinstance(inputs, tuple) and not isinstance(inputs[0], int)
    return inputs[0] if several else inputs


def copies(x, group):
    """Applies `copy_to` to an input or each of several, once per distinct input."""
    if not isinstance(x, tuple):
        return copy_to(x, group)
    found = {id(one): copy_to(one, group) for one in x}
    return tuple(found[id(one)] for one in x)


@dataclass(frozen=True, kw_only=True)
class RunPart(Run):
    """A Run whose random numbers are this worker's part along one axis of an example."""

    group: Any
    axis: int

    def draw(self, draw, shape):
        axis, whole = self.axis % len(shape), list(shape)
        whole[axis] *= self.group.size
        return own_part(super().draw(draw, tuple(whole)), self.group, axis + 1)


def run_part(run, group, axis):
    """Returns a Run for this worker's part of a layer."""
    return RunPart(**vars(run), group=group, axis=axis)


class SplitSoftmax:
    """SoftmaxCrossEntropy with classes split among workers; other attributes are the loss's.

    Per example, workers exchange the maximum, then the sum of exponentials and the number at the
    label, which only one of them has.
    """

    def __init__(self, whole, group):
        self.whole, self.group = whole, group

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def per_example(self, z, labels):
        """Returns the loss of each example (batch,), given this part of z (batch, classes)."""
        known, classes = self.whole.replace_ignored(labels), z.shape[1]
        top = maximum_from(ops.max(ops.stop_gradient(z), 1, keepdims=True), self.group)
        z = ops.sub(z, top)
        own = ops.one_hot(ops.sub(known, np.int32(self.group.rank * classes)), classes, z.dtype)
        terms = [ops.sum(ops.exp(z), 1), ops.sum(ops.mul(z, own), 1), ops.sum(own, 1)]
        sums = reduce_from(ops.concat([ops.reshape(t, (1, -1)) for t in terms]), self.group)
        total, at_label, count = (
            ops.reshape(ops.slice(sums, (i, 0), (i + 1, sums.shape[1])), (-1,)) for i in range(3)
        )
        loss = ops.sub(ops.log(total), at_label)
        loss = ops.where(ops.greater(count, 0.5), loss, np.float32(np.nan))  # no class
        if self.whole.ignore_label is None:
            return loss
        return ops.mul(loss, count_labels(labels, self.whole.ignore_label, z.dtype))


SPLIT_LAYERS = {
    Split.COLUMNS: SplitColumns,
    Split.GATHERED: GatheredColumns,
    Split.CLASSES: SplitClasses,
    Split.INSIDE: SplitInside,
    Split.ROWS: SplitRows,
    Split.HEADS: SplitHeads,
}
