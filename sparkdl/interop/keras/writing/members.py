"""Activations, initializers, regularizers and constraints, converted to Keras."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.members import ACTIVATIONS, CONSTRAINT_TWINS, INITIALIZER_TWINS
from sparkdl.interop.keras.twins import document, written
from sparkdl.nn import layers as nn
from sparkdl.nn.activations import (
    Clip,
    Elu,
    HardSigmoid,
    LeakyRelu,
    ThresholdedRelu,
)
from sparkdl.nn.constraints import NonNegative
from sparkdl.nn.initializers import VarianceScaling

NAMES = {nn.Activation(ours).function: name for name, ours in ACTIVATIONS.items()}
NAMES[HardSigmoid(slope=1 / 6)] = "hard_sigmoid"


def activation(function):
    """Returns Keras's name of an activation function, or None."""
    return "linear" if function is None else NAMES.get(function)


def activation_layer(function):
    """Returns (class, config) of the Keras layer for an activation function."""
    if function in NAMES:
        return "Activation", {"activation": NAMES[function]}
    if isinstance(function, LeakyRelu):
        return "LeakyReLU", {"negative_slope": function.alpha}
    if isinstance(function, Elu):
        return "ELU", {"alpha": function.alpha}
    if isinstance(function, ThresholdedRelu):
        return "ReLU", {"threshold": function.threshold}
    if isinstance(function, Clip) and function.low == 0:
        return "ReLU", {"max_value": function.high}
    raise UnsupportedError(f"{function} is not supported")


def initializer(value):
    value = getattr(value, "same_as", value)
    if isinstance(value, VarianceScaling):
        names = {"normal": "untruncated_normal"}
        config = {"scale": value.scale, "mode": value.mode}
        config["distribution"] = names.get(value.distribution, value.distribution)
        return document("initializers", "VarianceScaling", config)
    return written(value, INITIALIZER_TWINS, "initializers")


def regularizer(l1, l2):
    """Returns a regularizer; Keras's l2 multiplies w^2, sparkdl's w^2 / 2."""
    if not l1 and not l2:
        return None
    return document("regularizers", "L1L2", {"l1": l1 or 0.0, "l2": (l2 or 0.0) / 2})


def constraint(values, axes=(0,)):
    """Returns the only constraint; norms are along `axes` of Keras's array."""
    if not values:
        return None
    if len(values) > 1:
        raise UnsupportedError(f"{len(values)} constraints are not supported")
    found = written(values[0], CONSTRAINT_TWINS, "constraints")
    if not isinstance(values[0], NonNegative):
        found["config"]["axis"] = list(axes)
    return found
