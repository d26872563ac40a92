"""Normalizations as graphs of cuDNN's, fused with the sum and ReLU that follow.

If cuDNN refuses a graph, it is tried without its neighbors, then left to our own passes over
memory.
"""

from dataclasses import dataclass, field
from math import prod

from sparkdl.engine.backends.cuda.cudnn.graph_op import CudnnGraphOp
from sparkdl.engine.backends.cuda.cudnn.normalization_graphs import (
    NormalizationGradRequest,
    NormalizationRequest,
)
from sparkdl.engine.backends.cuda.rewrites.node_groups import NodeGroup, replace_groups
from sparkdl.engine.chains import readers
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.activation import ReluOp
from sparkdl.engine.ops.elementwise import AddOp, add, div, maximum, sqrt, square, sub
from sparkdl.engine.ops.layer_norm import LayerNormGradOp, LayerNormOp
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp
from sparkdl.engine.ops.shape import CastOp, cast
from sparkdl.errors import UnsupportedError

FLOAT = "float32"


def fuse_normalization(graph, session):
    """Returns the graph with each normalization that cuDNN accepts as one of its graphs."""
    if session.libraries.graphs is None:
        return graph
    work, groups = NormMatcher(session, readers(graph)), []
    for node in graph.nodes:
        if type(node.op) in KINDS:
            group = work.first(KINDS[type(node.op)](work, node)) if lies_well(node) else None
            groups += [] if group is None else [group]
            session.notes += [] if lies_well(node) else [layout_note(node)]
    return replace_groups(graph, groups) if groups else graph


@dataclass
class NormMatcher:
    """The state of a pass over a graph.

    Parameters
    ----------
    users : {tensor: nodes that read it, including None for an output of the graph}
    taken : nodes in a group
    inverses : {replaced normalization node: (its mean, its inverse deviation)}
    """

    session: object
    users: dict
    taken: set = field(default_factory=set)
    inverses: dict = field(default_factory=dict)

    def first(self, tries):
        """Returns the first group whose graph cuDNN accepts; else notes why and returns None."""
        for request, group in tries:
            if not group.is_closed:
                continue
            try:
                self.session.libraries.graphs.plan(request, self.session.tf32)
            except UnsupportedError as error:
                refusal = f"cuDNN has no {request.label} of {request.x}: {error}"
                continue
            self.taken |= set(group.nodes)
            return group
        self.session.notes.append(refusal)
        return None

    def only(self, tensor, kind):
        """Returns the node of a kind that is the only reader of a tensor, or None."""
        users = self.users.get(tensor, ())
        node = next(iter(users)) if len(users) == 1 else None
        return node if node and type(node.op) is kind and node not in self.taken else None


def lies_well(node):
    """Returns whether channels, or the numbers of a row, are contiguous in memory."""
    shape = node.outputs[0].shape
    if by_rows(node):
        return len(shape) in (2, 3) and node.op.axis == len(shape) - 1
    return len(shape) in (2, 4, 5)


def layout_note(node):
    """Returns the line for describe() on a normalization that `lies_well` rejects."""
    what = "the numbers of a row" if by_rows(node) else "channels"
    return f"cuDNN has no normalization of {node.outputs[0].spec}: {what} do not lie together"


def by_rows(node):
    return isinstance(node.op, LayerNormOp | LayerNormGradOp)


def graph_shapes(shape, rows):
    """Returns the shapes in a graph of (x, gamma, a statistic)."""
    if rows:
        count, length = prod(shape[:-1]), shape[-1]
        return (count, length, 1, 1), (1, length, 1, 1), (count, 1, 1, 1)
    shape = (*shape, *(1,) * (4 - len(shape)))
    each = 1, shape[1], *(1,) * (len(shape) - 2)
    return shape, each, each


def forwards(work, node):
    """Yields (request, group), first fused with its neighbors, then alone."""
    for behind, other in (*neighbors(work, node), ((), None)):
        yield forward(work, node, behind, other)


def neighbors(work, node):
    """Yields (nodes after a normalization, the last a ReLU or narrowing cast; addend or None)."""
    y = node.outputs[0]
    if by_rows(node):
        end = work.only(y, CastOp)
        if end and end.op.dtype == uncast(node.inputs[0]).spec.dtype:
            yield (end,), None
        return
    relu, total = work.only(y, ReluOp), work.only(y, AddOp)
    if relu:
        yield (relu,), None
    if total and (relu := work.only(total.outputs[0], ReluOp)):
        other = total.inputs[total.inputs[0] is y]
        if other.spec == y.spec:
            yield (total, relu), other


def uncast(x):
    """Returns the tensor that was widened to x, or x."""
    cast_before = x.node is not None and isinstance(x.node.op, CastOp)
    return x.node.inputs[0] if cast_before and x.spec.dtype == FLOAT else x


def forward(work, node, behind, other):
    x, last = node.inputs[0], behind[-1].op if behind else None
    x = uncast(x) if isinstance(last, CastOp) else x
    image, each, statistic = (Spec(s, FLOAT) for s in graph_shapes(x.shape, by_rows(node)))
    image = Spec(image.shape, x.spec.dtype)
    reads = {"x": image, "gamma": each, "beta": each} | ({"other": image} if other else {})
    names = ["mean", "inverse", *(() if by_rows(node) else ("last_mean", "last_variance"))]
    arrays = reads | {"y": image} | dict.fromkeys(names, statistic)
    request = NormalizationRequest(
        epsilon=node.op.epsilon, rectified=isinstance(last, ReluOp), **arrays
    )
    small = Spec(node.outputs[1].shape, FLOAT)
    op = CudnnGraphOp(request, tuple(arrays), (x.spec, *[small] * len(names)))

    def make(x, gamma, beta, *other):
        y, mean, inverse, *_ = op(x, cast(gamma, FLOAT), cast(beta, FLOAT), *other)
        work.inverses[node] = mean, inverse
        variance = maximum(sub(div(1.0, square(inverse)), node.op.epsilon), 0.0)
        outputs = dict.fromkeys([t for n in (node, *behind) for t in n.outputs], y)
        statistics = zip(node.outputs[1:], (mean, variance), strict=True)
        return outputs | {old: cast(new, old.spec.dtype) for old, new in statistics}

    inputs = x, *node.inputs[1:], *((other,) if other else ())
    return request, NodeGroup((node, *behind), inputs, make)


def backwards(work, node):
    """Yields (request, group) with the cast to 16 bits that follows, then alone."""
    end = work.only(node.outputs[0], CastOp)
    if by_rows(node) and end and {uncast(t).spec.dtype for t in node.inputs[:2]} == {end.op.dtype}:
        yield backward(work, node, end)
    yield backward(work, node)


def backward(work, node, end=None):
    gy, x, gamma, mean, variance = node.inputs
    gy, x = map(uncast, (gy, x)) if end else (gy, x)
    image, each, statistic = (Spec(s, FLOAT) for s in graph_shapes(x.shape, by_rows(node)))
    image = Spec(image.shape, x.spec.dtype)
    reads = {"gy": image, "x": image, "gamma": each, "mean": statistic, "inverse": statistic}
    writes = {"gx": image, "ggamma": each, "gbeta": each}
    request = NormalizationGradRequest(by_rows=by_rows(node), **reads, **writes)
    small = Spec(gamma.shape, FLOAT)
    op = CudnnGraphOp(request, (*reads, *writes), (x.spec, small, small))
    norm = mean.node if mean.node is variance.node else None

    def make(gy, x, gamma, mean, variance):
        if norm in work.inverses:
            mean, inverse = work.inverses[norm]
        else:
            deviation = sqrt(add(cast(variance, FLOAT), node.op.epsilon))
            mean, inverse = cast(mean, FLOAT), div(1.0, deviation)
        gx, *gs = op(gy, x, cast(gamma, FLOAT), mean, inverse)
        outputs = zip(node.outputs, (gx, *gs), strict=True)
        outputs = {old: cast(new, old.spec.dtype) for old, new in outputs}
        return outputs | ({end.outputs[0]: gx} if end else {})

    nodes = (node, end) if end else (node,)
    return request, NodeGroup(nodes, (gy, x, *node.inputs[2:]), make)


KINDS = {
    BatchNormOp: forwards,
    LayerNormOp: forwards,
    BatchNormGradOp: backwards,
    LayerNormGradOp: backwards,
}
