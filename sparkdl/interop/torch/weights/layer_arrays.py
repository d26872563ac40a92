"""Conversion of a torch module's arrays to a layer's arrays.

A rule is a function of a layer, {sparkdl's name: shape} and {torch's name: array} that returns
{sparkdl's name: array}, and removes the arrays that it used.
"""

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.nn import layers as nn

GATES = {nn.LSTM: (0, 1, 2, 3), nn.GRU: (1, 0, 2), nn.SimpleRnn: (0,)}  # indices in torch's order


def plain(layer, shapes, arrays):
    """Returns weights in torch's layout: convolutions, tables, factors of channels."""
    names = {"W": "weight", "b": "bias", "alpha": "weight", "gamma": "weight", "beta": "bias"}
    names |= {"mean": "running_mean", "variance": "running_var"}
    found = {ours: arrays.pop(names[ours]) for ours in shapes if names.get(ours) in arrays}
    if "alpha" in found and found["alpha"].size == 1:
        found["alpha"] = np.broadcast_to(found["alpha"].reshape(()), shapes["alpha"])
    return found


def product(layer, shapes, arrays):
    """Returns the arrays of a Linear; torch's weight is (outputs, inputs)."""
    found = plain(layer, shapes, arrays)
    return found | {"W": turned(found["W"])} if "W" in found else found


def turned(matrix):
    """Returns a matrix transposed; other arrays unchanged, to be refused later."""
    return matrix.T if matrix.ndim == 2 else matrix


def recurrent(layer, shapes, arrays, way=""):
    """Returns the arrays of one LSTM, GRU or RNN layer; torch has two biases."""
    order = GATES[type(layer)]
    found = {}
    for ours, theirs in {"W": "weight_ih", "RW": "weight_hh"}.items():
        if f"{theirs}{way}" in arrays:
            found[ours] = np.concatenate(blocks(arrays.pop(f"{theirs}{way}"), order)).T
    if f"bias_ih{way}" not in arrays:
        return found
    of_x, of_h = (blocks(arrays.pop(f"bias_{part}{way}"), order) for part in ("ih", "hh"))
    if not isinstance(layer, nn.GRU):
        return found | {"b": np.concatenate(of_x) + np.concatenate(of_h)}
    if not layer.reset_after:
        raise UnsupportedError("a GRU of torch in a GRU without reset_after is not supported")
    sums = [x + h for x, h in zip(of_x[:2], of_h[:2], strict=True)]
    return found | {"b": np.concatenate([*sums, of_x[2], of_h[2]])}


def blocks(array, order):
    """Returns the gates' parts in sparkdl's order."""
    parts = np.split(array, len(order))
    return [parts[place] for place in order]


def both_ways(layer, shapes, arrays):
    """Returns the arrays of a bidirectional layer; torch's second direction ends in _reverse."""
    inner, found = layer.layer, {}
    for ours, theirs in {"forward_": "", "backward_": "_reverse"}.items():
        part = recurrent(inner, shapes, arrays, theirs)
        found |= {f"{ours}{name}": array for name, array in part.items()}
    return found


def attention(layer, shapes, arrays):
    """Returns the arrays of a MultiheadAttention, which merges queries, keys and values."""
    found = {}
    for ours, (theirs, last) in {
        "W": ("in_proj_weight", "out_proj.weight"),
        "b": ("in_proj_bias", "out_proj.bias"),
    }.items():
        if theirs in arrays:
            parts = [*np.split(arrays.pop(theirs), 3), arrays.pop(last)]
            found |= {f"{ours}{part}": x.T for part, x in zip("qkvo", parts, strict=True)}
    return found


RULES = (
    ((nn.LSTM, nn.GRU, nn.SimpleRnn), recurrent),
    ((nn.Bidirectional,), both_ways),
    ((nn.SelfAttention, nn.MultiHeadAttention), attention),
    ((nn.Embedding, nn.EmbeddingSequence), plain),
    ((nn.Dense, nn.Output, nn.RnnOutput), product),
)


def arrays_for(layer, shapes, arrays):
    """Returns {sparkdl's name: array} of a layer, and removes the used ones from `arrays`."""
    while isinstance(layer, nn.Wrapper) and not isinstance(layer, nn.Bidirectional):
        layer = layer.layer
    if isinstance(layer, nn.GravesLSTM):
        return {}
    rule = next((rule for kinds, rule in RULES if isinstance(layer, kinds)), plain)
    return rule(layer, shapes, arrays)
