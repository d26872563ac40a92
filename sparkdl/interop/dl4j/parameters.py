"""Conversion of a file's vectors, parameters and updater state, to arrays.

Updater state is stored in blocks: consecutive arrays with the same updater share a block, which has
each state vector in one piece. Means, variances and frozen layers have no state, and end a block.
"""

from dataclasses import replace
from itertools import groupby

import numpy as np

from sparkdl.errors import DataError
from sparkdl.interop.dl4j.training import SLOTS
from sparkdl.interop.translated_network import state_with

MOST = 1 << 33  # largest number of parameters


def check_length(vector, taken, path):
    """Raises DataError for a wrong number of parameters, before memory is allocated."""
    needed = sum(one.take.size for one in taken)
    if needed != vector.size or needed > MOST:
        raise DataError(
            f"{path}, coefficients.bin: the layers must have {needed} parameters, got {vector.size}"
        )


def pieces(vector, taken):
    """Yields (Taken, its array) for consecutive parts of a vector."""
    start = 0
    for one in taken:
        part = vector[start : start + one.take.size]
        start += one.take.size
        yield one, part.reshape(one.take.shape, order=one.take.order)


def state_of_file(network, taken, vector):
    """Returns a network's state with the parameters of a file."""
    arrays = (
        (f"{one.vertex}/{ours}", change(array))
        for one, array in pieces(vector, taken)
        for ours, change in one.take.parts.items()
    )
    with np.errstate(over="ignore"):
        return state_with(network, arrays)


def with_slots(network, taken, vector, path):
    """Returns a network's state with the updater state of a file."""
    conf, slots, start = network.conf, network.state.slots.copy(), 0
    views = slot_views(conf, slots)
    for updater, block in groupby(taken, lambda one: one.updater):
        block = list(block)
        if updater is None:
            continue
        names = SLOTS[type(views[place_of(block[0])][0])]
        size = sum(one.take.size for one in block)
        for name in names:
            part = vector[start : start + size]
            if part.size != size:
                raise DataError(
                    f"{path}, updaterState.bin: must have at least {start + size} numbers, got "
                    f"{vector.size}"
                )
            fill(views, block, part, name)
            start += size
    if start != vector.size:
        raise DataError(f"{path}, updaterState.bin: must have {start} numbers, got {vector.size}")
    return replace(network.state, slots=slots)


def place_of(taken):
    return f"{taken.vertex}/{next(iter(taken.take.parts))}"


def slot_views(conf, slots):
    """Returns {parameter: (its optimizer, {slot: view})}."""
    vectors, found = conf.slots_layout.views(slots), {}
    for group in conf.groups:
        views = {slot: group.layout.views(vectors[name]) for slot, name in group.slots.items()}
        for parameter, _ in group.layout.entries:
            own = {slot: arrays[parameter] for slot, arrays in views.items()}
            found[parameter] = group.optimizer, own
    return found


def fill(views, block, vector, name):
    """Copies one state vector of a block into the slots."""
    for one, array in pieces(vector, block):
        for ours, change in one.take.parts.items():
            views[f"{one.vertex}/{ours}"][1][name][...] = change(array)
