"""Parameters that a module computes with before an example meets them: scales, gates, class tokens.

Each is a layer of ours that gives the same numbers for each example, so that what is computed with
it trains it, and not the result.
"""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch.aten.node import Place
from sparkdl.interop.torch.aten.trained_arrays import is_trained
from sparkdl.nn import layers as nn

REPEATS = {"expand", "expand_as", "repeat"}
OPERANDS = {"add", "div", "mul", "sub"}  # which broadcast what they read
RESHAPES = {"alias", "flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view"}
# Operations on each number alone, whichever axes there are.
ELEMENTWISE = {
    *("abs", "add", "clamp", "clamp_max", "clamp_min", "div", "elu", "erf", "exp", "gelu", "mish"),
    *("hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mul", "neg", "pow", "reciprocal"),
    *("relu", "relu6", "rsqrt", "rsub", "selu", "sigmoid", "silu", "softplus", "sqrt", "sub"),
    "tanh",
}


def is_for_each(name, shape, made, size):
    """Returns whether a call gives what has a shape (1, ...) to each example of a batch."""
    return name in REPEATS and shape[:1] == (1,) and (size, *shape[1:]) == made


def learned(parts, module, tensor):
    """Returns the Place of a parameter, without the axis of the batch."""
    shape, [(name, example)] = tuple(tensor.shape) or (1,), [*parts.build.inputs.items()][:1]
    arrays = {"weight": tensor.reshape(shape)}
    place = parts.add(nn.Learned(shape=shape), [Place(name, example)], module, arrays)
    return replace(place, batched=False)


def place_of_each(node, value):
    """Returns a Place as it is, and that of a constant (n, ...) with the same for each example."""
    if isinstance(value, Place):
        return value
    node.need(not is_trained(value), "a parameter beside examples")
    one = once(value, node.size)
    node.need(len(one) == 1, f"a constant of shape {tuple(value.shape)} beside examples")
    return replace(learned(node.network, node.module, one[0]), batched=True)


def once(value, size):
    """Returns the first row (1, ...) of an array (size, ...) whose rows are all alike, else all."""
    alike = value.ndim > 1 and len(value) == size and bool((value == value[:1]).all())
    return value[:1] if alike else value


def call_without_batch(parts, name, place, made, size):
    """Returns what a call that only moves numbers makes of a Place that lacks the batch.

    Raises
    ------
    UnsupportedError
        For any other call.
    """
    if is_for_each(name, place.shape, made, size):
        return replace(reshaped(parts, place, made[1:]), batched=True)
    if name not in RESHAPES:
        raise UnsupportedError(f"{name} of a parameter that is computed with is not supported")
    return reshaped(parts, place, made)


def reshaped(parts, place, shape):
    """Returns a Place with other axes."""
    shape = tuple(shape) or (1,)
    if place.shape == shape:
        return place
    made = parts.add(nn.Reshape(shape=shape), (place,), "", {})
    return replace(made, batched=place.batched)


def beside(parts, place, other):
    """Returns a Place with as many axes as another has, if it lacks the axis of the batch."""
    if place.batched:
        return place
    shape = place.shape
    if other.batched and len(shape) == len(other.shape) + 1 and shape[0] == 1:
        shape = shape[1:]
    more = len(other.shape) - len(shape)
    if more < 0 and other.batched:
        raise UnsupportedError(f"a parameter {place.shape} beside {other.shape} is not supported")
    return reshaped(parts, place, (1,) * more + shape)
