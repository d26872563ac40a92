"""Helpers for translating other frameworks' models into networks: names, shapes, arrays."""

from dataclasses import replace

from sparkdl.errors import UnsupportedError

# What the options of a layer raise where they are of another kind than the framework writes
MISTAKES = (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError)


def free_name(wanted, taken):
    """Returns the wanted name if it is not in `taken`, else with a number that makes it unique."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def take_name(wanted, taken):
    """Returns `free_name`, and adds it to the set `taken`."""
    name = free_name(wanted, taken)
    taken.add(name)
    return name


def only_input(inputs):
    """Returns the only input of a layer; raises UnsupportedError for several."""
    if len(inputs) != 1:
        raise UnsupportedError(f"{len(inputs)} inputs are not supported")
    return inputs[0]


def need(holds, what):
    """Raises UnsupportedError with `what` as its reason unless `holds`."""
    if not holds:
        raise UnsupportedError(f"{what} is not supported")


def shapes_by_input(shapes):
    """Returns {input: shape}; the key is None if there is only one input."""
    if shapes is None or isinstance(shapes, dict):
        return shapes or {}
    return {None: tuple(shapes)}


def refuse(reasons, path):
    """Raises an UnsupportedError with all reasons why a model cannot be read, if there are any."""
    if reasons:
        lines = "\n  ".join(reasons)
        raise UnsupportedError(
            f"{path} has layers or options without an equivalent in sparkdl:\n  {lines}"
        )


def outputs_of(network, features, names):
    """Returns the array (n, ...) of the layer in `names`, or a list of one for each of several."""
    found = network.features(features, list(dict.fromkeys(names)))
    arrays = [found[name] for name in names]
    return arrays[0] if len(arrays) == 1 else arrays


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
