"""What translations of models of others into networks have in common: names, shapes, arrays."""

from dataclasses import replace


def free_name(wanted, taken):
    """Returns a name that is not among those `taken`: the one that is wanted, or with a number."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def shapes_by_input(shapes):
    """Returns {input: shape}, with None for the name of an only input."""
    if shapes is None or isinstance(shapes, dict):
        return shapes or {}
    return {None: tuple(shapes)}


def state_with(network, arrays):
    """Returns the state of a network with some of its parameters and buffers replaced.

    Parameters
    ----------
    arrays : iterable of (str, array)
        By their names, "vertex/parameter"; in their shapes.
    """
    state, conf = network.state, network.conf
    vectors = {"params": state.params.copy(), "buffers": state.buffers.copy()}
    views = {}
    for kind, vector in vectors.items():
        views |= getattr(conf, f"{kind}_layout").views(vector)
    for name, array in arrays:
        views[name][...] = array
    return replace(state, **vectors)
