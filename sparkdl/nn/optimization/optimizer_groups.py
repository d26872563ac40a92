"""Groups: slices of the parameter vector, each with one optimizer."""

from itertools import groupby
from typing import NamedTuple

import numpy as np

from sparkdl.nn.layout import Layout, cut
from sparkdl.nn.optimization.parameter_options import arrays, optimizer_of
from sparkdl.nn.optimizers import Optimizer

AVERAGE = "weight_average"  # the slot of an optimizer with an `ema_decay`, beside its own


class OptimizerGroup(NamedTuple):
    """A slice of the parameter vector, and the optimizer that updates it.

    `slots` maps the optimizer's slot names to those in the slot vector: the same if the optimizer
    updates all parameters, else prefixed with the first array of the slice ("dense_1/W:mean").
    """

    optimizer: Optimizer
    part: slice
    layout: Layout
    slots: dict[str, str]


def optimizer_groups(network):
    """Returns the OptimizerGroups of a network, maximal slices of one optimizer; at least one."""
    entries = network.params_layout.entries
    owners = [optimizer_of(network, layer, name) for layer, name, _ in arrays(network)]
    ranges = [list(group) for _, group in groupby(zip(owners, entries), lambda pair: pair[0])]
    if len(ranges) < 2:
        optimizer = owners[0] if owners else network.optimizer
        return (
            OptimizerGroup(
                optimizer,
                slice(0, network.params_layout.size),
                network.params_layout,
                {name: name for name in slot_names_of(optimizer)},
            ),
        )
    return tuple(place_groups(ranges))


def slot_names_of(optimizer):
    """Returns the names of the optimizer's own slots, and of its average of the weights."""
    return *optimizer.slot_names, *(() if optimizer.ema_decay is None else (AVERAGE,))


def place_groups(ranges):
    """Yields an OptimizerGroup for each list of (optimizer, entry), at consecutive offsets."""
    start = 0
    for range_ in ranges:
        optimizer, layout = range_[0][0], Layout(tuple(entry for _, entry in range_))
        slots = {name: f"{layout.entries[0][0]}:{name}" for name in slot_names_of(optimizer)}
        yield OptimizerGroup(optimizer, slice(start, start + layout.size), layout, slots)
        start += layout.size


def part_of(vector, group):
    """Returns the group's slice of a vector."""
    size = vector.shape[0]
    return vector if group.layout.size == size else cut(vector, group.part)


def slots_layout(groups):
    """Returns the layout of the slot vector; a slot is as long as its group's slice."""
    return Layout(
        tuple((name, (group.layout.size,)) for group in groups for name in group.slots.values())
    )


def slot_starts(groups):
    """Returns {slot: initial value} for slots that do not start at 0."""
    return {
        group.slots[name]: value
        for group in groups
        for name, value in group.optimizer.slot_start.items()
    }


def rate_at(groups, iteration, epoch):
    """Returns the learning rate of an update: a number, or float32 (groups,) for several groups."""
    rates = [group.optimizer.rate_at(iteration, epoch) for group in groups]
    return rates[0] if len(rates) == 1 else np.array(rates, np.float32)
