"""Nodes put in the way oneDNN works: two done by one primitive, or one more where it needs it."""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec, scope
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.conv import ConvGradWeight
from sparkdl.engine.ops.pool import MaxPool, MaxPoolGrad, Pool
from sparkdl.engine.ops.reduce import Sum
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.sequence import ImageToSequence, SequenceToImage
from sparkdl.engine.ops.shape import Reshape, reshape
from sparkdl.engine.types import summed


@dataclass(frozen=True)
class Relayout(Op):
    """A reshape to or from images or volumes: their order in memory differs, so it is no view."""

    to: tuple[int, ...]

    def shape(self, x):
        return Spec(self.to, x.dtype)

    def decompose(self, x):
        return reshape(x, self.to)


@dataclass(frozen=True)
class MaxPoolWithPlaces(Pool):
    """(y, where in its window each maximum was): the gradient need not look for it again."""

    @property
    def kind(self):
        """The type of a place, as oneDNN chooses it."""
        return "uint8" if prod(self.size) <= 255 else "int32"

    def shape(self, x):
        y = super().shape(x)
        return y, Spec(y.shape, self.kind)

    def reference(self, x):
        y = MaxPool(*self.options()).reference(x)
        places = np.zeros(y.shape, self.kind)
        for place, (_, here) in enumerate(self.winners(x, y)):
            places[here] = place
        return y, places


@dataclass(frozen=True)
class MaxPoolToPlaces(Pool):
    """gy of each window at the place of its maximum, in a space of `image`."""

    image: tuple[int, ...] = ()

    def shape(self, gy, places):
        return Spec((*gy.shape[:2], *self.image), gy.dtype)

    def reference(self, gy, places):
        gx = self.padded(np.zeros((*gy.shape[:2], *self.image), gy.dtype))
        for place, at in enumerate(self.offsets(gy.shape[2:])):
            gx[at] += np.where(places == place, gy, 0)
        return self.cut(gx)


@dataclass(frozen=True)
class ConvGradWeightBias(Op):
    """(gw, gb) of a convolution."""

    product: ConvGradWeight

    def shape(self, gy, x):
        return self.product.shape(gy, x), Spec(gy.shape[1:2], summed(gy.dtype))

    def decompose(self, gy, x):
        return self.product(gy, x), sum_along(gy, all_but_channels(gy))


@dataclass(frozen=True)
class ImageView(SequenceToImage):
    """The same without work: images lie channels last, which is how a sequence lies."""

    view = True


@dataclass(frozen=True)
class SequenceView(ImageToSequence):
    """The way back without work."""

    view = True


def sequences_in_place(graph):
    """Sequences and images of one row are the same memory, where a program places both."""
    kept = set(graph.outputs.values())  # these may lie in memory of the caller's, in plain order

    def rule(node, inputs, uses):
        source = node.inputs[0] if node.inputs else None
        if isinstance(node.op, SequenceToImage) and source.value is None:
            return ImageView()(*inputs)
        if isinstance(node.op, ImageToSequence) and source.node and source not in kept:
            return None if source.node.op.view else SequenceView()(*inputs)

    return fuse(graph, (rule,))


def relayouts(graph):
    """Reshapes between images or volumes and anything else, as work to do."""

    def rule(node, inputs, uses):
        ranks = {node.inputs[0].ndim, node.outputs[0].ndim}
        if isinstance(node.op, Reshape) and ranks & {4, 5}:
            return Relayout(node.op.to)(*inputs)

    return fuse(graph, (rule,))


def maxima_remembered(graph):
    """Max pooling whose gradient is wanted tells it the places of the maxima."""
    grads = [node for node in graph.nodes if isinstance(node.op, MaxPoolGrad)]
    pools = {node.inputs[2].node for node in grads}
    pools = {p for p in pools if p is not None and isinstance(p.op, MaxPool)}
    places = {}

    def rule(node, inputs, uses):
        if node in pools:
            y, places[node] = MaxPoolWithPlaces(*node.op.options())(*inputs)
            return y
        if isinstance(node.op, MaxPoolGrad) and node.inputs[2].node in places:
            op = MaxPoolToPlaces(*node.op.options(), image=node.inputs[1].shape[2:])
            return op(inputs[0], places[node.inputs[2].node])

    return fuse(graph, (rule,))


def biases_with_weights(graph):
    """The gradients of a convolution's weights and bias, which both read gy."""
    sums = {n.inputs[0]: n for n in graph.nodes if is_bias_gradient(n)}
    both = {}
    for node in graph.nodes:
        if isinstance(node.op, ConvGradWeight) and node.inputs[0] in sums:
            with scope(node.scope):
                gw, gb = ConvGradWeightBias(node.op)(*node.inputs)
            both |= {node: gw, sums.pop(node.inputs[0]): gb}
    return fuse(graph, (lambda node, inputs, uses: both.get(node),)) if both else graph


def is_bias_gradient(node):
    if not isinstance(node.op, Sum) or node.op.keepdims:
        return False
    return node.op.axes == all_but_channels(node.inputs[0])


def all_but_channels(x):
    return (0, *range(2, len(x.shape)))
