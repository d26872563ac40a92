"""Local response normalization between narrow numbers takes and gives them.

Its kernels compute in float32 inside, so that the bits are those of casts before and behind, but a
third of the memory is read and written.
"""

from sparkdl.engine.dtypes import is_narrow
from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.ops.shape import CastOp
from sparkdl.engine.ops.spatial.lrn import LrnGradOp, LrnOp


def narrow_lrn(graph):
    """Returns the graph with such nodes, and their gradients, without the casts around them."""
    return fuse(graph, (rule,))


def rule(node, inputs, uses):
    kind = node.outputs[0].spec.dtype
    if not isinstance(node.op, CastOp) or not is_narrow(kind) or not once(node.inputs[0], uses):
        return None
    before = inputs[0].node
    if before is None or not isinstance(before.op, LrnOp | LrnGradOp):
        return None
    casts = [t.node for t in before.inputs]
    if all(c and isinstance(c.op, CastOp) and c.inputs[0].spec.dtype == kind for c in casts):
        return before.op(*(c.inputs[0] for c in casts))
    return None
