"""Gradients of a convolution's weights and bias in one primitive."""

from dataclasses import dataclass

from sparkdl.engine.dtypes import sum_dtype
from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec, scope
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.reduce import SumOp
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.spatial.conv import ConvGradWeightOp


@dataclass(frozen=True)
class ConvGradWeightBiasOp(Op):
    """(gw, gb) of a convolution."""

    product: ConvGradWeightOp

    def shape(self, gy, x):
        return self.product.shape(gy, x), Spec(gy.shape[1:2], sum_dtype(gy.dtype))

    def decompose(self, gy, x):
        return self.product(gy, x), sum_along(gy, all_but_channels(gy))


def biases_with_weights(graph):
    """Merges the gradients of a convolution's weights and bias, which both read gy."""
    sums = {n.inputs[0]: n for n in graph.nodes if is_bias_gradient(n)}
    both = {}
    for node in graph.nodes:
        if isinstance(node.op, ConvGradWeightOp) and node.inputs[0] in sums:
            with scope(node.scope):
                gw, gb = ConvGradWeightBiasOp(node.op)(*node.inputs)
            both |= {node: gw, sums.pop(node.inputs[0]): gb}
    return fuse(graph, (lambda node, inputs, uses: both.get(node),)) if both else graph


def is_bias_gradient(node):
    if not isinstance(node.op, SumOp) or node.op.keepdims:
        return False
    return node.op.axes == all_but_channels(node.inputs[0])


def all_but_channels(x):
    return (0, *range(2, len(x.shape)))
