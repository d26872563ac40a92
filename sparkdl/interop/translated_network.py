"""Helpers for translating other frameworks' models into networks: names, shapes, arrays."""

from dataclasses import replace


def free_name(wanted, taken):
    """Returns the wanted name if it is not in `taken`, else with a number that makes it unique."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def shapes_by_input(shapes):
    """Returns {input: shape}; the key is None if there is only one input."""
    if shapes is None or isinstance(shapes, dict):
        return shapes or {}
    return {None: tuple(shapes)}


def state_with(network, arrays):
    """Returns the state of a network with some of its parameters and buffers replaced.

    Parameters
    ----------
    arrays : iterable of (str, array)
        Pairs of a name, "vertex/parameter", and an array in the parameter's shape.
    """
    state, conf = network.state, network.conf
    vectors = {"params": state.params.copy(), "buffers": state.buffers.copy()}
    views = {}
    for kind, vector in vectors.items():
        views |= getattr(conf, f"{kind}_layout").views(vector)
    for name, array in arrays:
        views[name][...] = array
    return replace(state, **vectors)
