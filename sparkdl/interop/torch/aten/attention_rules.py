"""Layers for the aten operations of attention, and for slices of axes."""

from itertools import accumulate, pairwise

import numpy as np

from sparkdl.interop.axis_layers import lengths_of_parts, softmax_layers
from sparkdl.interop.constant_operands import line
from sparkdl.interop.torch.aten.mask_rules import hide, without_hidden
from sparkdl.interop.torch.aten.node import Place
from sparkdl.interop.torch.aten.operand_rules import with_constant
from sparkdl.interop.torch.aten.sequence_rules import LastStates, last_state
from sparkdl.nn import layers as nn


def matmul(node):
    """Adds a dense layer if the second operand is constant, else the product of two."""
    x = node.place("input" if node["input"] is not None else "self")
    second = "mat2" if node["mat2"] is not None else "other"
    if isinstance(node[second], Place):
        return node.add(nn.MatMul(), x, node[second])
    W = node.tensor(second)
    node.need(W.ndim == 2, f"a product with {tuple(W.shape)}")
    return node.add(nn.Dense(units=W.shape[1], bias=False), x, weight=W.T)


def dot_product_attention(node):
    """softmax(q k^T scale + mask) v, called outside of a MultiheadAttention."""
    q, k, v = (node.place(name) for name in ("query", "key", "value"))
    mask, scale = node["attn_mask"], node["scale"]
    node.need(not node["enable_gqa"], "enable_gqa")
    scores = node.add(nn.MatMul(transpose_b=True), q, k)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = node.add(line(scale=float(scale)), scores)
    computed, mask = (mask, None) if isinstance(mask, Place) else (None, mask)
    if computed:
        scores = hide(node, scores, computed)
    hidden = hidden_by(mask, scores.shape, node["is_causal"])
    scores = scores if hidden is None else with_constant(node, "add", scores, hidden)
    shares = along_last_axis(node, "softmax", scores)
    if computed:
        shares = without_hidden(node, shares, computed)
    if node["dropout_p"]:
        shares = node.add(nn.Dropout(rate=node["dropout_p"]), shares)
    return node.add(nn.MatMul(), shares, v)


def hidden_by(mask, shape, causal):
    """Returns the mask to add to scores (..., T, S); None if nothing is hidden."""
    if causal:
        return np.triu(np.full(shape[-2:], -np.inf), 1)
    if mask is None:
        return None
    return mask if mask.is_floating_point() else np.where(mask.numpy(), np.float32(0), -np.inf)


def softmax(kind):
    """Returns the rule of a softmax along any axis but the batch."""

    def translate(node):
        x, axis = node.place(), node.axis(node["dim"])
        last = len(x.shape) - 1
        if axis == last:
            return along_last_axis(node, kind, x)
        order = list(range(last + 1))
        order[axis], order[last] = last, axis
        turn = nn.Permute(order=tuple(order))
        return node.add(turn, along_last_axis(node, kind, node.add(turn, x)))

    return translate


def along_last_axis(node, kind, x):
    for layer in softmax_layers(kind, x.shape):
        x = node.add(layer, x)
    return x


def select(node):
    """Takes one index of an axis, and removes the axis."""
    if isinstance(node["self"], LastStates):
        node.need(node["dim"] == 0, f"axis {node['dim']} of the last states")
        return last_state(node, node["index"])
    x, axis = node.place("self"), node.axis(node["dim"])
    index = node["index"] % x.shape[axis]
    if axis == 0 and len(x.shape) == 2 and index == x.shape[0] - 1:
        return node.add(nn.LastTimeStep(), x)
    return place_of(node, x, axis, index)


def cut(node):
    """aten's slice."""
    x, bounds = node.place("self"), slice(node["start"], node["end"])
    node.need(node["step"] in (None, 1), f"steps of {node['step']}")
    if node["dim"] == 0:
        whole = not node["start"] and (node["end"] is None or node["end"] >= node.size)
        node.need(whole, "a part of the batch")
        return x
    axis = node.axis(node["dim"])
    start, stop, _ = bounds.indices(x.shape[axis])
    node.need(start < stop, f"{start} to {stop} of axis {node['dim']}")
    return part(node, x, axis, start, stop)


def split(node):
    """Splits an axis into consecutive parts: chunk, split, split_with_sizes."""
    x, axis = node.place("self"), node.axis(node["dim"] or 0)
    length = x.shape[axis]
    sizes = node["split_sizes"] or node["split_size"]
    if sizes is None:
        sizes = -(-length // node["chunks"])
    if isinstance(sizes, int):
        sizes = lengths_of_parts(length, sizes)
    bounds = pairwise(accumulate(sizes, initial=0))
    return tuple(part(node, x, axis, start, stop) for start, stop in bounds)


def unbind(node):
    """Takes each index of an axis, and removes the axis."""
    x, axis = node.place("self"), node.axis(node["dim"] or 0)
    return tuple(place_of(node, x, axis, index) for index in range(x.shape[axis]))


def place_of(node, x, axis, index):
    left = (*x.shape[:axis], *x.shape[axis + 1 :])
    node.need(left, "an example without axes")
    y = part(node, x, axis, index, index + 1)
    return node.add(nn.Flatten() if len(left) == 1 else nn.Reshape(shape=left), y)


def part(node, x, axis, start, stop):
    if (start, stop) == (0, x.shape[axis]):
        return x
    return node.add(nn.Subset(start=start, stop=stop, axis=axis), x)


def group_norm(node):
    return by_groups(node, node["num_groups"])


def instance_norm(node):
    node.need(node["use_input_stats"], "running statistics")
    return by_groups(node, node.place().shape[0])


def by_groups(node, groups):
    """Normalizes each group of channels; each channel has its own scale and shift."""
    x = node.place()
    apart = node.add(nn.Reshape(shape=(groups, -1)), x)
    norm = nn.LayerNorm(axes=(1,), epsilon=node["eps"], scale=False, shift=False)
    y = node.add(nn.Reshape(shape=x.shape), node.add(norm, apart))
    tensors = {name: node.tensor(name) for name in ("weight", "bias")}
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    if not given:
        return y
    flags = {"scale": "weight" in given, "shift": "bias" in given}
    return node.add(nn.Affine(axis=0, **flags), y, **given)


ATTENTION_RULES = {
    "bmm": matmul,
    "chunk": split,
    "group_norm": group_norm,
    "instance_norm": instance_norm,
    "log_softmax": softmax("log_softmax"),
    "matmul": matmul,
    "mm": matmul,
    "scaled_dot_product_attention": dot_product_attention,
    "select": select,
    "slice": cut,
    "softmax": softmax("softmax"),
    "split": split,
    "split_with_sizes": split,
    "unbind": unbind,
}
