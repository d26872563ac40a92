"""Options of layers with weights, and their activation function."""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.twins import document
from sparkdl.interop.keras.writing import members
from sparkdl.nn import layers as nn
from sparkdl.nn.activations import Identity, LogSoftmax, Softmax


def weighted(at, axes=(0,), kernel="kernel"):
    """Returns the Keras options of kernel and bias; constraints are along `axes` of a kernel."""
    layer, found = at.layer, {"use_bias": at.layer.bias}
    if not at.training:
        return found
    parts = {
        kernel: (layer.initializer, layer.l1, layer.l2),
        "bias": (layer.bias_initializer, layer.bias_l1, layer.bias_l2),
    }
    for name, (initializer, l1, l2) in parts.items():
        found[f"{name}_initializer"] = members.initializer(initializer)
        found[f"{name}_regularizer"] = members.regularizer(l1, l2)
    found[f"{kernel}_constraint"] = members.constraint(layer.constraints, axes)
    found["bias_constraint"] = members.constraint(layer.bias_constraints)
    return found


def inner_layer(at, kind, config):
    """Returns the document of an inner layer, frozen if its wrapper is."""
    flags = {"trainable": False} if at.frozen else {}
    return document("layers", kind, {"name": "inner"} | flags | config)


def function_name(function):
    name = members.activation(function)
    if name is None:
        raise UnsupportedError(f"the activation function {function} is not supported")
    return name


def activated(at, kind, config, *sources, **given):
    """Adds a layer with weights, followed by a separate activation layer if necessary."""
    function = at.layer.activation
    name = members.activation(function)
    if name is not None:
        return at.add(kind, config | {"activation": name}, *sources, **given)
    expected = replace(given.pop("expected", None) or at.layer, activation=Identity())
    y = at.add(kind, config | {"activation": "linear"}, *sources, expected=expected, **given)
    return add_function(at, function, y, helper="activation")


def add_function(at, function, x, helper=None):
    """Adds an activation function as a layer."""
    if isinstance(function, Softmax | LogSoftmax):
        x = at.turn(x, True)
    kind, config = members.activation_layer(function)
    if isinstance(function, Softmax) and len(x.shape) > 2:
        kind, config = "Softmax", {"axis": -1}
    return at.add(kind, config, x, expected=nn.Activation(function), helper=helper)


def plain_numbers(value):
    """Returns tuples as lists, for JSON."""
    return [plain_numbers(one) for one in value] if isinstance(value, tuple) else value
