"""Options shared by several kinds of layers."""

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.members import activation, constraint, initializer, regularizer

GLOROT = "glorot_uniform"


def weighted(options, kernel="kernel", axes=(0,), bias_axes=(0,), single=()):
    """Returns the training options of a layer with a kernel and optionally a bias.

    Constraints apply along `axes` of the kernel, of which `single` have length 1, and `bias_axes`
    of the bias; see `constraint`.
    """
    l1, l2 = regularizer(options.take(f"{kernel}_regularizer"))
    return {
        "initializer": initializer(options.take(f"{kernel}_initializer", GLOROT)),
        "l1": l1,
        "l2": l2,
        "constraints": constraint(options.take(f"{kernel}_constraint"), axes, single),
    } | biased(options, bias_axes)


def biased(options, axes=(0,)):
    """Returns the options of a bias; constraints apply along `axes` of Keras's array."""
    l1, l2 = regularizer(options.take("bias_regularizer"))
    return {
        "bias": options.flag("use_bias", True),
        "bias_initializer": initializer(options.take("bias_initializer", "zeros")),
        "bias_l1": l1,
        "bias_l2": l2,
        "bias_constraints": constraint(options.take("bias_constraint"), axes),
    }


def activated(at, place=None):
    """Returns {"activation": ...} from a layer's options; softmax is over features or channels."""
    function = activation(at.options.take("activation"), at.version)
    if place is not None:
        check_softmax(function, place)
    return {"activation": function}


def check_softmax(function, place):
    """Raises UnsupportedError if Keras's softmax, along the last axis, is not along sparkdl's."""
    over_channels = function in ("softmax", "log_softmax")
    if over_channels and len(place.shape) > 2 and not place.turned:
        raise UnsupportedError("softmax along the columns of images is not supported")


def same_options(at, *names):
    """Raises UnsupportedError unless options are equal that sparkdl has only once."""
    first, *others = (at.take(name) for name in names)
    for name, value in zip(names[1:], others, strict=True):
        at.need(plain(value) == plain(first), name, value)


def plain(value):
    """Returns an option without what distinguishes equal objects."""
    if isinstance(value, dict):
        kept = {"class_name", "config"} & value.keys()
        return {name: value[name] for name in kept}
    return value
