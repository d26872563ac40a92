"""Recurrent operations between narrow numbers, in narrow types: cuDNN computes in float32.

A network in bfloat16 has its recurrent layers in float32, as cells rounded after each operation
lose too much precision. cuDNN rounds only what it reads and writes, and is many times faster with
narrow types.
"""

from dataclasses import replace

from sparkdl.engine.backends.cuda.rewrites.recurrent_stacks import cell_of
from sparkdl.engine.dtypes import is_narrow
from sparkdl.engine.fusion import fuse
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.shape import CastOp, cast
from sparkdl.errors import UnsupportedError


def narrow_recurrent_nodes(graph, session):
    """Returns the graph with such operations in the type that all their results are cast to."""
    if session.libraries.recurrent is None:
        return graph
    kinds = {
        node: kind for node, kind in narrow_candidates(graph) if is_cudnns(node, kind, session)
    }

    def recurrent(node, inputs, uses):
        if node in kinds:
            return node.op(*(in_kind(t, kinds[node]) for t in inputs))
        if isinstance(node.op, RecurrentGradOp) and node.inputs[-1].node in kinds:
            kind = kinds[node.inputs[-1].node]
            grads = node.op(*(in_kind(t, kind) for t in inputs[:-1]), inputs[-1])
            return tuple(cast(g, t.dtype) for g, t in zip(grads, node.outputs, strict=True))

    return fuse(graph, (drop_double_cast, recurrent)) if kinds else graph


def is_cudnns(node, kind, session):
    """Returns whether cuDNN supports the node in this type."""
    try:
        session.libraries.recurrent.layer(replace(cell_of(node, session), kind=kind, tf32=False))
    except UnsupportedError:
        return False
    return True


def narrow_candidates(graph):
    """Yields (recurrent node, type) if all readers cast its results to this narrow type."""
    readers = {t: [None] for t in graph.outputs.values()}
    for node in graph.nodes:
        for tensor in node.inputs:
            readers.setdefault(tensor, []).append(node)
    for node in graph.nodes:
        if isinstance(node.op, RecurrentOp):
            casts = [r for t in node.outputs[:-1] for r in readers.get(t, ())]
            kinds = {r.op.dtype if r and isinstance(r.op, CastOp) else "float32" for r in casts}
            if len(kinds) == 1 and is_narrow(min(kinds)):
                yield node, min(kinds)


def in_kind(tensor, kind):
    """Returns a tensor in a narrow type, without a detour through float32."""
    before = narrow_source(tensor, kind)
    return cast(tensor, kind) if before is None else before


def drop_double_cast(node, inputs, uses):
    """Removes a cast to the type that numbers have, or had before a cast to float32."""
    if isinstance(node.op, CastOp):
        same = inputs[0] if inputs[0].spec.dtype == node.op.dtype else None
        return narrow_source(inputs[0], node.op.dtype) if same is None else same


def narrow_source(tensor, kind):
    """Returns the tensor of this type that was widened to this float32 tensor, or None."""
    if tensor.node is None or not isinstance(tensor.node.op, CastOp):
        return None
    before = tensor.node.inputs[0]
    lossless = tensor.spec.dtype == "float32" and is_narrow(before.dtype)
    return before if lossless and before.spec.dtype == kind else None
