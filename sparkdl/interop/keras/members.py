"""Activations, initializers, regularizers and constraints of Keras in our words."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.options import object_of
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
    """Returns our activation function of a name or object; `version` is that of Keras."""
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
    """Returns our initializer of Keras's; its seed is not carried."""
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


def normal(kind):
    def translate(options):
        return kind(std=options.number("stddev", 0.05), mean=options.number("mean", 0.0))

    return translate


def uniform(options):
    return Uniform(low=options.number("minval", -0.05), high=options.number("maxval", 0.05))


def identity(options):
    options.only(gain=1.0)
    return IdentityMatrix()


INITIALIZERS = {
    "zeros": lambda options: Zeros(),
    "ones": lambda options: Ones(),
    "constant": lambda options: Constant(value=options.number("value", 0.0)),
    "randomnormal": normal(Normal),
    "truncatednormal": normal(TruncatedNormal),
    "randomuniform": uniform,
    "variancescaling": variance_scaling,
    "orthogonal": lambda options: Orthogonal(gain=options.number("gain", 1.0)),
    "identity": identity,
    "identityinitializer": identity,
}


def regularizer(value):
    """Returns (l1, l2): Keras's l2 is of w^2, ours of w^2 / 2."""
    if value is None:
        return 0.0, 0.0
    name, options = object_of(value)
    key = name.lower()
    if key not in ("l1", "l2", "l1l2", "l1_l2"):
        raise UnsupportedError(f"regularizer {name!r} is not supported")
    first = options.number("l1", 0.01 if key == "l1" else 0.0)
    second = options.number("l2", 0.01 if key == "l2" else 0.0)
    return float(first), 2.0 * second


def constraint(value):
    """Returns our constraints, none or one."""
    if value is None:
        return ()
    name, options = object_of(value)
    key = name.replace("_", "").lower()
    if key not in CONSTRAINTS:
        raise UnsupportedError(f"constraint {name!r} is not supported")
    return (CONSTRAINTS[key](options),)


def max_norm(options):
    check_axis(options)
    return MaxNorm(limit=options.number("max_value", 2))


def min_max_norm(options):
    check_axis(options)
    return MinMaxNorm(
        low=options.number("min_value", 0.0),
        high=options.number("max_value", 1.0),
        share=options.number("rate", 1.0),
    )


def unit_norm(options):
    check_axis(options)
    return UnitNorm()


def check_axis(options):
    """Refuses norms along other axes than those of the weights into one unit."""
    axis = options.take("axis", 0)
    options.need(axis in (0, [0], [0, 1], [0, 1, 2]), "axis", axis)


CONSTRAINTS = {
    "maxnorm": max_norm,
    "minmaxnorm": min_max_norm,
    "unitnorm": unit_norm,
    "nonneg": lambda options: NonNegative(),
    "nonnegative": lambda options: NonNegative(),
}
