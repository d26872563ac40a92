"""Updates in Caffe's order: clipping, l1 and l2, optimizer, constraints."""

import numpy as np

from tests.oracle.jax_translation.constraints import constrained
from tests.oracle.jax_translation.network import gradients, loss_and_outputs
from tests.oracle.jax_translation.optimizers import move, state_of
from tests.oracle.jax_translation.penalties import (
    inner_of,
    is_bias,
    is_weight,
    parameters,
    penalty_gradient,
)
from tests.oracle.jax_translation.schedules import rate_of


def optimizer_of(conf, layer, name):
    inner = inner_of(layer)
    own = getattr(inner, "bias_optimizer", None) if is_bias(layer, name) else None
    return own or getattr(inner, "optimizer", None) or conf.optimizer


def rate_factor(layer, name):
    inner = inner_of(layer)
    if inner.type_name == "Frozen":
        return 0.0
    own = inner.bias_rate_factor if is_bias(layer, name) else None
    return inner.rate_factor if own is None else own


def first_slots(conf):
    """Returns {"layer/name": optimizer state} before the first update."""
    shapes = dict(conf.params_layout.entries)
    owned = parameters(conf)
    return {key: state_of(optimizer_of(conf, layer, n), shapes[key]) for key, layer, n in owned}


def updated(conf, params, slots, grads, iteration, epoch=0):
    """{"layer/name": array} after update `iteration`, counted from 0; changes `slots` in place.

    Parameters
    ----------
    grads : {"layer/name": array}
        Gradients of the mean loss without penalties, from `gradients`.
    """
    after, clipped = {}, clip(conf.clipping, grads)
    for key, layer, name in parameters(conf):
        w = np.asarray(params[key], np.float64)
        grad = clipped[key] + penalty_gradient(layer, name, w)
        optimizer = optimizer_of(conf, layer, name)
        rate = rate_of(optimizer.learning_rate, iteration, epoch) * rate_factor(layer, name)
        decay = (
            optimizer.weight_decay * inner_of(layer).decay_factor if is_weight(layer, name) else 0
        )
        step = move(optimizer, w, grad, slots[key], rate, iteration + 1, decay)
        after[key] = constrained(conf, layer, name, w + step)
    return after


def train(conf, params, buffers, batches):
    """Returns (params, buffers, losses) after one update per batch, a dict of columns."""
    slots, losses = first_slots(conf), []
    for iteration, columns in enumerate(batches):
        loss, _, new = loss_and_outputs(conf, params, buffers, columns, training=True)
        grads = gradients(conf, params, buffers, columns)
        params, buffers = updated(conf, params, slots, grads, iteration), new
        losses.append(loss)
    return params, buffers, losses


def clip(clipping, grads):
    """Returns the clipped gradients."""
    if clipping is None:
        return grads
    kind = type(clipping).__name__
    if kind == "ClipValue":
        return {k: np.clip(g, -clipping.limit, clipping.limit) for k, g in grads.items()}
    clipped = {}
    for part in parts_of(kind, grads):
        length = np.sqrt(sum((grads[key] ** 2).sum() for key in part))
        if kind.startswith("Unit"):
            factor = 1 / length if length > 0 else 1.0
        else:
            factor = min(1.0, clipping.limit / length) if length > 0 else 1.0
        clipped |= {key: grads[key] * factor for key in part}
    return clipped


def parts_of(kind, grads):
    """Returns lists of the arrays that share a norm: all, those of each layer, or each alone."""
    if "Array" in kind:
        return [[key] for key in grads]
    if "Layer" not in kind:
        return [list(grads)]
    layers = {key.rpartition("/")[0] for key in grads}
    return [[key for key in grads if key.rpartition("/")[0] == layer] for layer in layers]
