"""Exponential moving averages of the weights, which optimizers with an `ema_decay` keep."""

from sparkdl.nn.optimization.optimizer_groups import AVERAGE, part_of
from sparkdl.nn.optimization.parameter_options import fixed_parts
from sparkdl.nn.optimizers.adam import one_minus_power


def average_weights(groups, params, slots, t):
    """Returns {slot: vector}, the averages after an update, of the groups that keep one.

    a <- a + (1 - d) / (1 - d^t) (w - a) with the decay d is the mean of the weights after the
    updates 1 to t, each with a factor of d per update since: its factors add up to 1, so that it
    has no bias, and its first value does not count.

    Parameters
    ----------
    groups : sequence of OptimizerGroup
    params : float (n,)
        Weights after the update.
    slots : dict of float vectors
        Those before it, keyed by the names of network.slots_layout.
    t : float scalar
        Number of the update, from 1.
    """
    averages = {}
    for group, key in averaged_groups(groups):
        decay, old = group.optimizer.ema_decay, slots[key]
        share = (1 - decay) / one_minus_power(decay, t)
        averages[key] = old + share * (part_of(params, group) - old)
    return averages


def begin_averages(network, params, slots):
    """Returns slots (m,) whose averages of zeros are replaced by the weights `params` (n,).

    Averages are zeros before the first update, and in states read from files that have none.
    """
    groups = averaged_groups(network.groups)
    if not groups:
        return slots
    slots = slots.copy()
    views = network.slots_layout.views(slots)
    for group, key in groups:
        if not views[key].any():
            views[key][...] = params[group.part]
    return slots


def averaged_params(network, params, slots):
    """Returns averaged weights (n,), a new array.

    Weights whose optimizer keeps no average, or whose learning rate is always 0, are as in
    `params` (n,).
    """
    averaged = params.copy()
    views = network.slots_layout.views(begin_averages(network, params, slots))
    for group, key in averaged_groups(network.groups):
        averaged[group.part] = views[key]
    for part in fixed_parts(network):
        averaged[part] = params[part]
    return averaged


def averaged_groups(groups):
    """Returns [(OptimizerGroup, name of its average's slot)] of the groups that keep one."""
    return [(group, group.slots[AVERAGE]) for group in groups if AVERAGE in group.slots]
