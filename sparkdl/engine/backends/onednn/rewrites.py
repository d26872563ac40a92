"""Nodes put in the way oneDNN works: two done by one primitive, or one more where it needs it."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.conv import Conv2dGradWeight
from sparkdl.engine.ops.pool import MaxPool2d, MaxPool2dGrad, Pool
from sparkdl.engine.ops.reduce import Sum
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import Reshape, reshape


@dataclass(frozen=True)
class Relayout(Op):
    """A reshape to or from images: in memory their order differs, so it is no view."""

    to: tuple[int, ...]

    def shape(self, x):
        return Spec(self.to, x.dtype)

    def decompose(self, x):
        return reshape(x, self.to)


@dataclass(frozen=True)
class MaxPoolWithPlaces(Pool):
    """(y, where in its window each maximum was): the gradient need not look for it again."""

    def shape(self, x):
        y = super().shape(x)
        return y, Spec(y.shape, "uint8")

    def reference(self, x):
        y = MaxPool2d(*self.options()).reference(x)
        places = np.zeros(y.shape, np.uint8)
        for place, (_, here) in enumerate(self.winners(x, y)):
            places[here] = place
        return y, places


@dataclass(frozen=True)
class MaxPoolToPlaces(Pool):
    """gy of each window at the place of its maximum, in images like `image`."""

    image: tuple[int, int] = (0, 0)

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

    product: Conv2dGradWeight

    def shape(self, gy, x):
        return self.product.shape(gy, x), Spec(gy.shape[1:2], gy.dtype)

    def decompose(self, gy, x):
        return self.product(gy, x), sum_along(gy, (0, 2, 3))


def relayouts(graph):
    """Reshapes between images and anything else, as work to do."""

    def rule(node, inputs, uses):
        if isinstance(node.op, Reshape) and 4 in (node.inputs[0].ndim, node.outputs[0].ndim):
            return Relayout(node.op.to)(*inputs)

    return fuse(graph, (rule,))


def maxima_remembered(graph):
    """Max pooling whose gradient is wanted tells it the places of the maxima."""
    grads = [node for node in graph.nodes if isinstance(node.op, MaxPool2dGrad)]
    pools = {node.inputs[2].node for node in grads}
    pools = {p for p in pools if p is not None and isinstance(p.op, MaxPool2d) and small(p.op)}
    places = {}

    def rule(node, inputs, uses):
        if node in pools:
            y, places[node] = MaxPoolWithPlaces(*node.op.options())(*inputs)
            return y
        if isinstance(node.op, MaxPool2dGrad) and node.inputs[2].node in places:
            op = MaxPoolToPlaces(*node.op.options(), image=node.inputs[1].shape[2:])
            return op(inputs[0], places[node.inputs[2].node])

    return fuse(graph, (rule,))


def small(op):
    """Whether a place fits into a byte."""
    return op.size[0] * op.size[1] <= 256


def biases_with_weights(graph):
    """The gradients of a convolution's weights and bias, which both read gy."""
    sums = {n.inputs[0]: n for n in graph.nodes if is_bias_gradient(n)}
    both = {}
    for node in graph.nodes:
        if isinstance(node.op, Conv2dGradWeight) and node.inputs[0] in sums:
            gw, gb = ConvGradWeightBias(node.op)(*node.inputs)
            both |= {node: gw, sums.pop(node.inputs[0]): gb}
    return fuse(graph, (lambda node, inputs, uses: both.get(node),)) if both else graph


def is_bias_gradient(node):
    return isinstance(node.op, Sum) and node.op.axes == (0, 2, 3) and not node.op.keepdims
