"""Rewriting a graph before its gradients are taken: the same values, less work both ways."""

from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.ops.activation import ReluOp, relu
from sparkdl.engine.ops.spatial.pool import MaxPoolOp


def pool_before_relu(node, inputs, uses):
    """max pooling of relu(x) as relu of max pooling: relu then works on fewer numbers.

    It never changes which number of a window is the largest one above 0, so the values are the
    same, and so are the gradients: where all are below 0 there is none.
    """
    if isinstance(node.op, MaxPoolOp) and once(node.inputs[0], uses):
        before = inputs[0].node
        if before is not None and isinstance(before.op, ReluOp):
            return relu(node.op(before.inputs[0]))


def simplify(graph):
    """Returns the graph with every rule of this module applied."""
    return fuse(graph, (pool_before_relu,))
