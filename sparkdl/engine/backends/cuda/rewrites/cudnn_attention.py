"""Scores, softmax and mix of attention as one graph of cuDNN's in each direction."""

from functools import lru_cache

import numpy as np

from sparkdl.engine.backends.cuda.cudnn.attention_graphs import (
    AttentionGradRequest,
    AttentionRequest,
)
from sparkdl.engine.backends.cuda.cudnn.graph_op import CudnnGraphOp
from sparkdl.engine.backends.cuda.rewrites.node_groups import NodeGroup, replace_groups
from sparkdl.engine.chains import readers
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.attention import HeadMixOp, HeadScoresOp
from sparkdl.engine.ops.elementwise import ElementwiseOp
from sparkdl.engine.ops.shape import CastOp
from sparkdl.engine.ops.softmax import SoftmaxGradOp, SoftmaxOp
from sparkdl.errors import UnsupportedError

NEVER = -3e4  # biases that hide a score are below this, even in float16


def fuse_attention(graph, session):
    """Returns the graph with attention and its gradient by cuDNN if it accepts both."""
    if session.libraries.graphs is None:
        return graph
    users, groups = readers(graph), []
    for node in graph.nodes:
        if isinstance(node.op, HeadMixOp):
            groups += groups_of(node, users, session)
    return replace_groups(graph, groups) if groups else graph


def match_attention(mix, users):
    """Returns (nodes from the mix back to the scores, nodes of their gradient or ()).

    None if it does not mix values by a softmax of scores; UnsupportedError if it does more.
    """
    softmax = None if mix.op.back or mix.op.scale != 1 else softmax_above(mix.inputs[0])
    if softmax is None:
        return None
    scores, readers_of_maps = softmax.inputs[0].node, users[softmax.outputs[0]]
    if softmax is not mix.inputs[0].node:
        raise UnsupportedError("what softmax gives is changed, as by dropout, before it is used")
    if users[scores.outputs[0]] != {softmax}:
        raise UnsupportedError("something else reads the scores")
    forward = mix, softmax, scores
    if readers_of_maps == {mix}:
        return forward, ()
    backward = gradient(mix, scores, readers_of_maps - {mix}, users)
    if backward is None:
        raise UnsupportedError("something else reads what softmax gives, or a part of the gradient")
    return forward, backward


def softmax_above(tensor):
    """Returns the softmax of scores that a tensor is computed from elementwise, or None."""
    node = tensor.node
    if node is not None and isinstance(node.op, ElementwiseOp | CastOp):
        return next(filter(None, map(softmax_above, node.inputs)), None)
    softmax = maker_of(tensor, SoftmaxOp)
    return softmax if softmax and maker_of(softmax.inputs[0], HeadScoresOp) else None


def maker_of(tensor, kind):
    """Returns the node that computes a tensor if it is of this kind, or None."""
    return tensor.node if tensor.node is not None and isinstance(tensor.node.op, kind) else None


def gradient(mix, scores, others, users):
    """Returns the nodes of the gradient, those of q, k, maps, scores and v, or None.

    `others` are the other readers of the maps; the result is None if they are anything else.
    """
    kinds = {type(node and node.op): node for node in others}
    if len(others) != 2 or kinds.keys() != {SoftmaxGradOp, HeadMixOp}:
        return None
    to_v, to_scores = kinds[HeadMixOp], kinds[SoftmaxGradOp]
    to_maps, go = to_scores.inputs[0].node, to_v.inputs[1]
    (q, k), gscores, op = scores.inputs[:2], to_scores.outputs[0], scores.op
    ends = {(node.op, node.inputs): node for node in users[gscores] if node}
    to_q = HeadMixOp(op.heads, op.scale), (gscores, k)
    to_k = HeadMixOp(op.heads, op.scale, True), (gscores, q)
    holds = (
        to_v.op == HeadMixOp(op.heads, 1.0, True)
        and to_maps
        and (to_maps.op, to_maps.inputs) == (HeadScoresOp(op.heads), (go, mix.inputs[1]))
        and users[to_maps.outputs[0]] == {to_scores}
        and ends.keys() == {to_q, to_k}
        and len(users[gscores]) == 2
    )
    return (ends[to_q], ends[to_k], to_maps, to_scores, to_v) if holds else None


def groups_of(mix, users, session):
    """Returns the groups of attention and its gradient; if none, notes the reason."""
    try:
        nodes = match_attention(mix, users)
        if nodes is None:
            return []
        (_, _, scores), backward = nodes
        bias = scores.inputs[2:]
        causal = bool(bias) and is_causal(bias[0])
        groups = together(mix, scores, backward, causal)
        for request, _ in groups:
            session.libraries.graphs.plan(request, session.tf32)
    except UnsupportedError as error:
        session.notes.append(f"cuDNN has no attention of {mix.outputs[0].spec}: {error}")
        return []
    return [group for _, group in groups]


def together(mix, scores, backward, causal):
    """Returns [(request, group)] of attention and, if there is one, its gradient."""
    q, k, v = *scores.inputs[:2], mix.inputs[1]
    o, heads = mix.outputs[0], mix.op.heads
    specs = {n: by_heads(t.spec, heads) for n, t in {"q": q, "k": k, "v": v, "o": o}.items()}
    sums = Spec((*specs["q"].shape[:3], 1), "float32") if backward else None
    options = {"scale": scores.op.scale, "causal": causal, "sums": sums}
    saved = {}

    def attend(q, k, v):
        saved["o"], *saved["sums"] = forward(q, k, v)
        return {o: saved["o"]} | dict.fromkeys(
            (*mix.inputs[0].node.outputs, *scores.outputs), saved["o"]
        )

    request = AttentionRequest(**specs, **options)
    flat = [o.spec] + ([Spec((q.shape[0] * heads, q.shape[1]), "float32")] if backward else [])
    names = ("q", "k", "v", "o", *(("sums",) if backward else ()))
    forward = CudnnGraphOp(request, names, tuple(flat), scores.flops + mix.flops)
    groups = [(request, NodeGroup((mix, mix.inputs[0].node, scores), (q, k, v), attend))]
    return groups + ([back(backward, specs, options, (q, k, v, o), saved)] if backward else [])


def back(nodes, specs, options, reads, saved):
    to_q, to_k, _, _, to_v = nodes
    go = to_v.inputs[1]
    ends = {"gq": to_q, "gk": to_k, "gv": to_v}
    more = {n: specs[n[1:]] for n in ("go", *ends)}
    request = AttentionGradRequest(**specs, **options, **more)
    results = tuple(node.outputs[0].spec for node in ends.values())
    names = ("q", "k", "v", "o", "sums", "go", *ends)
    op = CudnnGraphOp(request, names, results, sum(node.flops for node in nodes))

    def attend_back(q, k, v, o, go):
        grads = op(q, k, v, o, *saved["sums"], go)
        outputs = dict.fromkeys([t for node in nodes for t in node.outputs], grads[0])
        return outputs | {node.outputs[0]: g for node, g in zip(ends.values(), grads, strict=True)}

    return request, NodeGroup(nodes, (*reads, go), attend_back)


def by_heads(spec, heads):
    n, steps, width = spec.shape
    return Spec((n, heads, steps, width // heads), spec.dtype)


def is_causal(bias):
    """Returns whether a bias on the scores hides the later steps and does nothing else.

    Raises
    ------
    UnsupportedError
        If it does something else.
    """
    if bias.value is None or not is_causal_mask(ArrayIdentity(bias.value)):
        raise UnsupportedError("something is added to the scores")
    return True


class ArrayIdentity:
    """An array that caches compare by identity."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return id(self.value)

    def __eq__(self, other):
        return self.value is other.value


@lru_cache(maxsize=16)
def is_causal_mask(held):
    bias = held.value.astype(np.float32)
    later = np.triu(np.ones(bias.shape[1:], bool), 1)
    return bias.shape[1] == bias.shape[2] and bool(np.all(np.where(later, bias < NEVER, bias == 0)))
