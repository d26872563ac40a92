"""One update of the parameter vector: clipping, then l1 and l2, then the optimizer, as in Caffe.

Decoupled weight decay, if the optimizer has it, is applied last but reads the old parameters.
Constraints apply to the result, and averages of the weights include it.
"""

from functools import partial

import numpy as np

from sparkdl.engine import ops
from sparkdl.nn.layout import cut
from sparkdl.nn.optimization.optimizer_groups import part_of
from sparkdl.nn.optimization.parameter_options import (
    arrays,
    constraints_of,
    incoming,
    optimizer_of,
    rate_factor,
    spread,
)
from sparkdl.nn.optimization.penalty import add_penalty, decay_factor
from sparkdl.nn.optimization.weight_average import average_weights


def update_params(network, params, grad, slots, rate, t, guard=None):
    """Returns the parameters and slots after one update, as arrays or Tensors like the inputs.

    Parameters
    ----------
    network : NetworkConf
    params, grad : float (n,)
        `grad` is that of the mean loss of the batch.
    slots : dict of float vectors
        Keyed by the names of network.slots_layout.
    rate, t : float scalar
        Learning rate (network.rate_at), and the number of this update, from 1. With several
        optimizers, `rate` has one entry per group, (groups,).
    guard : function (move, params, grad, slots, rate, t), optional
        Calls `move` with the rest, and may discard its results: loss_scale.guard_update. Averages
        of the weights count such an update too.

    Returns
    -------
    params, slots
    """
    move = partial(move_params, network)
    move = move if guard is None else partial(guard, move)
    moved, after = move(params, grad, slots, rate, t)
    return moved, after | average_weights(network.groups, moved, slots, t)


def move_params(network, params, grad, slots, rate, t):
    """Returns what `update_params` does, but for the averages of the weights."""
    if network.clipping is not None:
        grad = network.clipping.clip(without_fixed(network, grad), network.params_layout)
    grad = add_penalty(network, grad, params)
    rates, decays = rates_of(network, rate), decays_of(network)
    steps, after = [], {}
    for group, own_rate, decay in zip(network.groups, rates, decays, strict=True):
        keys = {name: group.slots[name] for name in group.optimizer.slot_names}
        old = {name: slots[key] for name, key in keys.items()}
        values, slope = part_of(params, group), part_of(grad, group)
        step, new = group.optimizer.move(values, slope, old, own_rate, t, group.layout, decay)
        steps.append(step)
        after |= {key: new[name] for name, key in keys.items()}
    step = steps[0] if len(steps) == 1 else ops.concat(steps)
    return constrain_params(network, ops.add(params, step)), after


def without_fixed(network, grad):
    """Zeroes the gradient of parameters with a rate of 0, so that norms do not include it.

    Caffe does not compute these gradients at all.
    """
    factors = spread(network, rate_factor, other=1)
    if factors is None or network.clipping.elementwise or factors.all():
        return grad
    return ops.where((factors != 0).astype(np.float32), grad, 0.0)


def rates_of(network, rate):
    """Returns each group's learning rate, a vector if factors are not all 1."""
    groups = network.groups
    if len(groups) == 1:
        rates = [rate]
    else:
        rates = [ops.reshape(cut(rate, slice(i, i + 1)), ()) for i in range(len(groups))]
    factors = spread(network, rate_factor, other=1)
    if factors is None:
        return rates
    return [ops.mul(rate, factors[group.part]) for rate, group in zip(rates, groups, strict=True)]


def decays_of(network):
    """Returns the decoupled decay of each group's entries; None for groups without."""

    def decay(layer, name):
        return optimizer_of(network, layer, name).weight_decay * decay_factor(layer, name)

    decays = spread(network, decay)
    if decays is None:
        return [None] * len(network.groups)
    parts = [decays[group.part] for group in network.groups]
    return [part if part.any() else None for part in parts]


def constrain_params(network, params):
    """Applies the constraints of each array to `params` (n,)."""
    layout, parts, touched = network.params_layout, [], False
    for (layer, name, shape), part in zip(arrays(network), layout.slices.values(), strict=True):
        array = cut(params, part)
        for constraint in constraints_of(network, layer, name):
            array = constrain(constraint, array, layer, name, shape)
            touched = True
        parts.append(array)
    return ops.concat(parts) if touched else params


def constrain(constraint, array, layer, name, shape):
    """Applies a constraint to the parameter `name`, or a part of it, (n,).

    Elementwise constraints need no shape, as a NetworkPart only knows the number of elements.
    """
    if constraint.elementwise:
        return constraint.apply(array)
    shape_in, axes = incoming(layer, name, shape)
    return ops.reshape(constraint.apply(ops.reshape(array, shape_in), axes), (-1,))
