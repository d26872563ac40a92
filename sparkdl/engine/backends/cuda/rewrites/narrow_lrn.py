"""Local response normalization in narrow types if casts surround it.

Its kernels compute in float32, so results equal those of explicit casts bit for bit, with a third
of the memory traffic.
"""

from sparkdl.engine.backends.cuda.rewrites.recurrent_types import narrow_source
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
    sources = [narrow_source(t, kind) for t in before.inputs]
    return None if None in sources else before.op(*sources)
