"""Recurrent layers that no library runs, step by step; gradients reuse the same steps."""

from sparkdl.engine.backends.cuda.rewrites.decomposition import cast_results, wide
from sparkdl.engine.fusion import fuse
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp


def unroll_recurrent(graph):
    """Returns the graph with recurrent layers decomposed into their steps.

    Decomposed on its own, a gradient would compute all steps of its layer again.
    """
    walked = {}

    def rule(node, inputs, uses):
        if isinstance(node.op, RecurrentOp):
            operands = wide(inputs)
            walked[node] = operands, node.op.decompose(*operands)
            return cast_results(walked[node][1], node)
        layer = layer_of(node)
        if layer in walked:
            operands, ys = walked[layer]
            gys = wide(inputs[: -len(operands) - 1])
            return cast_results(node.op.through(lambda *_: ys, *gys, *operands, inputs[-1]), node)

    return fuse(graph, (rule,))


def layer_of(node):
    """Returns the node that a node is the gradient of, with the same inputs, or None."""
    if isinstance(node.op, RecurrentGradOp):
        layer = node.inputs[-1].node
        same = layer is not None and node.inputs[-len(layer.inputs) - 1 : -1] == layer.inputs
        return layer if same else None
