"""Weight constraints: norms of the incoming weights of each unit."""

import numpy as np

from tests.oracle.jax_translation.penalties import inner_of, is_bias, is_weight

FACTORS = {"Affine", "PRelu", "Learned", "BatchNorm", "GroupNorm", "LayerNorm", "RMSNorm"}
FACTORS |= {"PositionEmbedding"}


def constrained(conf, layer, name, w):
    """Returns the array w after its constraints."""
    inner = inner_of(layer)
    if is_bias(layer, name):
        chosen = getattr(inner, "bias_constraints", ())
    elif is_weight(layer, name):
        chosen = conf.constraints if inner.constraints is None else inner.constraints
    else:
        chosen = (inner.constraints or ()) if inner.type_name in FACTORS else ()
    for constraint in chosen:
        w = moved(constraint, w, inner)
    return w


def moved(c, w, layer):
    if c.type_name == "non_negative":
        return np.maximum(w, 0)
    length = lengths(w, layer)
    known = np.where(length > 0, length, 1.0)
    if c.type_name == "max_norm":
        return w * np.where(length > c.limit, c.limit / known, 1.0)
    if c.type_name == "unit_norm":
        return w / known
    wanted = c.share * np.clip(length, c.low, c.high) + (1 - c.share) * length
    return w * wanted / known


def lengths(w, layer):
    """Returns the L2 norms of each unit's incoming weights, broadcastable over w.

    A unit's weights are a column of a matrix, a filter of (O, I, ...), an output channel of
    transposed filters (I, O / groups, ...), and a filter at one place of locally connected (places,
    inputs, filters).
    """
    kind = layer.type_name
    if w.ndim > 2 and kind.endswith("Transpose"):
        parts = w.reshape(layer.groups, -1, *w.shape[1:])
        axes = (1, *range(3, parts.ndim))
        length = np.sqrt((parts**2).sum(axes, keepdims=True))
        return np.broadcast_to(length, parts.shape).reshape(w.shape)
    axes = 1 if kind.startswith("LocallyConnected") else tuple(range(1, w.ndim))
    return np.sqrt((w**2).sum(axes if w.ndim > 2 else 0, keepdims=True))
