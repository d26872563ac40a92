"""Parameters under l1, l2 and weight decay, and the penalty they add."""

import numpy as np

NEVER = ("BatchNorm", "LayerNorm", "PositionEmbedding", "Frozen")  # the network's l1, l2 pass by
OWN_ONLY = ("Affine", "PRelu", "Learned")  # only what the layer itself says
BIASES = ("b", "bq", "bk", "bv", "bo", "beta", "visible_b")


def inner_of(layer):
    """The layer whose choices about training hold: of a wrapper the one inside, not of Frozen."""
    while layer.type_name in ("Bidirectional", "TimeDistributed", "Reconstruction"):
        layer = layer.layer
    return layer


def is_bias(layer, name):
    if inner_of(layer).type_name == "Frozen":
        return False
    return name.removeprefix("forward_").removeprefix("backward_") in BIASES or name[-2:] == "_b"


def is_weight(layer, name):
    """Whether the network's l1, l2, decay and constraints are meant for a parameter."""
    kind = inner_of(layer).type_name
    return kind not in NEVER + OWN_ONLY and not is_bias(layer, name) and name != "Q"


def coefficient(layer, name, which):
    """The factor of |w| ("l1") or w^2 / 2 ("l2") of one parameter."""
    inner = inner_of(layer)
    if is_bias(layer, name):
        return getattr(inner, f"bias_{which}", 0.0)
    if inner.type_name in NEVER or name == "Q":
        return 0.0
    return getattr(inner, which) * inner.decay_factor


def parameters(conf):
    """("layer/name", layer, short name) of each parameter array."""
    for place in conf.stack:
        for name in place.param_shapes:
            yield f"{place.name}/{name}", place.layer, name


def penalty(conf, params):
    """What l1 and l2 add to what is minimized; no replica reports it."""
    total = 0.0
    for key, layer, name in parameters(conf):
        w = np.asarray(params[key], np.float64)
        total += coefficient(layer, name, "l1") * np.abs(w).sum()
        total += coefficient(layer, name, "l2") * (w**2).sum() / 2
    return total


def penalty_gradient(layer, name, w):
    """The gradient of the penalty on one array."""
    return coefficient(layer, name, "l1") * np.sign(w) + coefficient(layer, name, "l2") * w
