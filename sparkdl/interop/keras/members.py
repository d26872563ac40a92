"""Activations, initializers, regularizers and constraints, converted from Keras."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
from sparkdl.interop.keras.twins import Twin
from sparkdl.nn.activations import Gelu, HardSigmoid
from sparkdl.nn.constraints import MaxNorm, MinMaxNorm, NonNegative, UnitNorm
from sparkdl.nn.initializers import (
    Constant,
    IdentityMatrix,
    Normal,
    Ones,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    Zeros,
)

SCALED = {
    "glorot": (1.0, "fan_avg"),
    "he": (2.0, "fan_in"),
    "lecun": (1.0, "fan_in"),
}
ACTIVATIONS = {
    "elu": "elu",
    "exponential": "exp",
    "gelu": Gelu(),
    "hard_silu": "hard_swish",
    "hard_swish": "hard_swish",
    "hard_tanh": "hard_tanh",
    "leaky_relu": {"type": "leaky_relu", "alpha": 0.2},
    "linear": "identity",
    "log_softmax": "log_softmax",
    "mish": "mish",
    "relu": "relu",
    "relu6": "relu6",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "silu": "swish",
    "softmax": "softmax",
    "softplus": "softplus",
    "softsign": "softsign",
    "swish": "swish",
    "tanh": "tanh",
}


def activation(value, version):
    """Converts an activation function, given by name or object; `version` is Keras's."""
    if value is None:
        return "identity"
    name, options = object_of(value)
    if isinstance(value, dict) and name not in ACTIVATIONS:
        raise UnsupportedError(f"activation {name!r} is not supported")
    options.finish()
    if name == "hard_sigmoid":
        return HardSigmoid(slope=0.2 if version < 3 else 1 / 6)
    if name not in ACTIVATIONS:
        raise UnsupportedError(f"activation {name!r} is not supported")
    return ACTIVATIONS[name]


def initializer(value):
    """Converts an initializer; its seed is dropped."""
    name, options = object_of(value)
    key = name.replace("_", "").lower()
    for scaled, (scale, mode) in SCALED.items():
        for distribution in ("normal", "uniform"):
            if key == scaled + distribution:
                kind = "uniform" if distribution == "uniform" else "truncated_normal"
                return VarianceScaling(scale=scale, mode=mode, distribution=kind)
    if key not in INITIALIZERS:
        raise UnsupportedError(f"initializer {name!r} is not supported")
    return INITIALIZERS[key](options)


def variance_scaling(options):
    distribution = options.take("distribution", "truncated_normal")
    return VarianceScaling(
        scale=options.number("scale", 1.0),
        mode=options.take("mode", "fan_in"),
        distribution={"untruncated_normal": "normal"}.get(distribution, distribution),
    )


def identity(options):
    options.only(gain=1.0)
    return IdentityMatrix()


SPREAD = {"stddev": ("std", 0.05), "mean": ("mean", 0.0)}
BOUNDS = {"minval": ("low", -0.05), "maxval": ("high", 0.05)}
NORMAL = Twin(keras="RandomNormal", ours=Normal, options=SPREAD)
UNIFORM = Twin(keras="RandomUniform", ours=Uniform, options=BOUNDS)
INITIALIZER_TWINS = [
    Twin(keras="Zeros", ours=Zeros),
    Twin(keras="Ones", ours=Ones),
    Twin(keras="Constant", ours=Constant, options={"value": ("value", 0.0)}),
    NORMAL,
    Twin(keras="TruncatedNormal", ours=TruncatedNormal, options=SPREAD),
    UNIFORM,
    Twin(keras="Orthogonal", ours=Orthogonal, options={"gain": ("gain", 1.0)}),
    Twin(keras="Identity", ours=IdentityMatrix),
]
INITIALIZERS = {twin.keras.lower(): twin.read for twin in INITIALIZER_TWINS} | {
    "variancescaling": variance_scaling,
    "uniform": UNIFORM.read,
    "normal": NORMAL.read,
    "identity": identity,
    "identityinitializer": identity,
}


def regularizer(value):
    """Returns (l1, l2); Keras's l2 multiplies w^2, sparkdl's w^2 / 2."""
    if value is None:
        return 0.0, 0.0
    name, options = object_of(value)
    key = name.lower()
    if key not in ("l1", "l2", "l1l2", "l1_l2"):
        raise UnsupportedError(f"regularizer {name!r} is not supported")
    first = options.number("l1", 0.01 if key == "l1" else 0.0)
    second = options.number("l2", 0.01 if key == "l2" else 0.0)
    return float(first), 2.0 * second


def constraint(value, axes=(0,), single=()):
    """Converts a constraint; returns a tuple of none or one.

    Parameters
    ----------
    value : str, dict or None
    axes : tuple of int or None
        Axes of Keras's array that span the weights into one unit. None: no norm is possible.
    single : tuple of int
        Axes of length 1, along which a norm has no effect.
    """
    if value is None:
        return ()
    name, options = object_of(value)
    key = name.replace("_", "").lower()
    if key not in CONSTRAINTS:
        raise UnsupportedError(f"constraint {name!r} is not supported")
    twin = CONSTRAINTS[key]
    if twin.ours is not NonNegative:
        check_axis(name, options, axes, single)
    return (twin.read(options),)


def check_axis(name, options, axes, single=()):
    """Raises UnsupportedError unless a norm is along the axes of the weights into one unit."""
    axis = options.take("axis", 0)
    given = axis if isinstance(axis, list | tuple) else (axis,)
    if axes is None or set(given) - set(single) != set(axes) - set(single):
        cure = f"; give axis={list(axes)}" if axes else ""
        raise UnsupportedError(f"{name} along axis={axis!r} is not supported here{cure}")


CONSTRAINT_TWINS = [
    Twin(keras="MaxNorm", ours=MaxNorm, options={"max_value": ("limit", 2)}),
    Twin(
        keras="MinMaxNorm",
        ours=MinMaxNorm,
        options={"min_value": ("low", 0.0), "max_value": ("high", 1.0), "rate": ("share", 1.0)},
    ),
    Twin(keras="UnitNorm", ours=UnitNorm),
    Twin(keras="NonNeg", ours=NonNegative),
]
CONSTRAINTS = {twin.keras.lower(): twin for twin in CONSTRAINT_TWINS}
CONSTRAINTS |= {"nonnegative": CONSTRAINTS["nonneg"]}
