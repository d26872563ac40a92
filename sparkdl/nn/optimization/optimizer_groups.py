"""Stretches of the parameter vector that one optimizer moves."""

from itertools import groupby
from typing import NamedTuple

import numpy as np

from sparkdl.nn.layout import Layout
from sparkdl.nn.optimization.parameter_options import arrays, optimizer_of
from sparkdl.nn.optimizers import Optimizer


class OptimizerGroup(NamedTuple):
    """A stretch of the parameter vector, and the optimizer that moves it.

    `slots` names the optimizer's slots in the slot vector: as the optimizer does where it moves all
    there is, else with the first array of the stretch before ("dense_1/W:mean").
    """

    optimizer: Optimizer
    part: slice
    layout: Layout
    slots: dict[str, str]


def optimizer_groups(network):
    """Returns the Groups of a network: the longest stretches with one optimizer, at least one."""
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
                slot_names_of(optimizer),
            ),
        )
    return tuple(place_groups(ranges))


def slot_names_of(optimizer):
    return {name: name for name in optimizer.slot_names}


def place_groups(ranges):
    """Yields a Group for each list of (optimizer, entry), one behind the other."""
    start = 0
    for range_ in ranges:
        optimizer, layout = range_[0][0], Layout(tuple(entry for _, entry in range_))
        slots = {name: f"{layout.entries[0][0]}:{name}" for name in optimizer.slot_names}
        yield OptimizerGroup(optimizer, slice(start, start + layout.size), layout, slots)
        start += layout.size


def slots_layout(groups):
    """Returns the layout of the slot vector; a slot is as long as its group's stretch."""
    return Layout(
        tuple((name, (group.layout.size,)) for group in groups for name in group.slots.values())
    )


def slot_starts(groups):
    """Returns {slot: the number that it is filled with at first}, where that is not 0."""
    return {
        group.slots[name]: value
        for group in groups
        for name, value in group.optimizer.slot_start.items()
    }


def rate_at(groups, iteration, epoch):
    """Returns the learning rate of an update: a number, or float32 of each of several groups."""
    rates = [group.optimizer.rate_at(iteration, epoch) for group in groups]
    return rates[0] if len(rates) == 1 else np.array(rates, np.float32)
