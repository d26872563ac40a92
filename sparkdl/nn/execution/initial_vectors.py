"""Initial parameters, buffers and slots of a network, as flat vectors."""

from zlib import crc32

import numpy as np

from sparkdl.errors import ShapeError
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimization.loss_scale import first_buffers
from sparkdl.nn.optimization.optimizer_groups import slot_starts


def initial_params(network):
    """Returns the initial parameter vector, float32 (n,).

    Each array has a random generator of its own, keyed by the seed, the index of its layer and its
    name, so the values of a layer do not depend on the sizes of others.
    """
    return initial_vector(network, network.params_layout, "param_shapes")


def initial_buffers(network):
    """Returns the initial buffer vector, float32."""
    buffers = initial_vector(network, network.buffers_layout, "buffer_shapes")
    first_buffers(network, buffers)
    return buffers


def initial_slots(network):
    """Returns the initial slot vector, float32: the optimizers' slots concatenated."""
    starts = slot_starts(network.groups)
    slots = np.zeros(network.slots_layout.size, np.float32)
    for name, view in network.slots_layout.views(slots).items():
        view[...] = starts.get(name, 0)
    return slots


def initial_vector(network, layout: Layout, kind):
    """Returns the vector of `layout` with the initial values of each layer."""
    vector = np.zeros(layout.size, np.float32)
    views = layout.views(vector)
    for place in network.stack:
        for name, shape in getattr(place, kind).items():
            rng = generator(network.seed, place.index, name)
            views[f"{place.name}/{name}"][...] = first_value(place, name, shape, rng)
    return vector


def first_value(place, name, shape, rng):
    """Returns the initial value of a parameter; errors name the layer and the parameter."""
    try:
        return place.layer.initial(name, shape, rng)
    except ShapeError as error:
        raise ShapeError(f"{place.name}/{name} cannot be initialized: {error}") from error


def generator(seed, index, name):
    """Returns the random generator of one array, keyed by seed, layer index and name."""
    key = np.array([seed, (index << 32) + crc32(name.encode())], np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
