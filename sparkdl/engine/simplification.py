"""Rewrites before gradients are taken: the same values with less work forward and backward."""

from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.ops.activation import ReluOp, relu
from sparkdl.engine.ops.spatial.pool import MaxPoolOp


def pool_before_relu(node, inputs, uses):
    """Turns max pooling of relu(x) into relu of max pooling, as relu then works on fewer numbers.

    The position of a positive maximum does not change, so neither values nor gradients do: where no
    number is positive, the gradient is 0.
    """
    if isinstance(node.op, MaxPoolOp) and once(node.inputs[0], uses):
        before = inputs[0].node
        if before is not None and isinstance(before.op, ReluOp):
            return relu(node.op(before.inputs[0]))


def simplify(graph):
    """Applies every rule of this module to a graph."""
    return fuse(graph, (pool_before_relu,))
