"""The l1, l2 and weight decay of parameters, and their penalty."""

import numpy as np

# The network's l1 and l2 skip them.
NEVER = ("BatchNorm", "GroupNorm", "LayerNorm", "RMSNorm", "PositionEmbedding", "Frozen")
OWN_ONLY = ("Affine", "PRelu", "Learned")  # only the layer's own options
BIASES = ("b", "bq", "bk", "bv", "bo", "beta", "visible_b")


def inner_of(layer):
    """Returns the layer whose training options apply: the inner layer of wrappers except Frozen."""
    while layer.type_name in ("Bidirectional", "TimeDistributed", "Reconstruction"):
        layer = layer.layer
    return layer


def is_bias(layer, name):
    if inner_of(layer).type_name == "Frozen":
        return False
    return name.removeprefix("forward_").removeprefix("backward_") in BIASES or name[-2:] == "_b"


def is_weight(layer, name):
    """Returns whether the network's l1, l2, decay and constraints apply to a parameter."""
    kind = inner_of(layer).type_name
    return kind not in NEVER + OWN_ONLY and not is_bias(layer, name) and name != "Q"


def coefficient(layer, name, which):
    """Returns the factor of |w| ("l1") or w^2 / 2 ("l2") for one parameter."""
    inner = inner_of(layer)
    if is_bias(layer, name):
        return getattr(inner, f"bias_{which}", 0.0)
    if inner.type_name in NEVER or name == "Q":
        return 0.0
    return getattr(inner, which) * inner.decay_factor


def parameters(conf):
    """Yields ("layer/name", layer, short name) of each parameter array."""
    for place in conf.stack:
        for name in place.param_shapes:
            yield f"{place.name}/{name}", place.layer, name


def penalty(conf, params):
    """Returns the penalty that l1 and l2 add to the objective; replicas do not report it."""
    total = 0.0
    for key, layer, name in parameters(conf):
        w = np.asarray(params[key], np.float64)
        total += coefficient(layer, name, "l1") * np.abs(w).sum()
        total += coefficient(layer, name, "l2") * (w**2).sum() / 2
    return total


def penalty_gradient(layer, name, w):
    """Returns the penalty's gradient for one array."""
    return coefficient(layer, name, "l1") * np.sign(w) + coefficient(layer, name, "l2") * w
