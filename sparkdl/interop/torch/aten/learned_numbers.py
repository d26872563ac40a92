"""Parameters used in computations without an example: scales, gates, class tokens.

Each becomes a layer that returns the same numbers for each example, so that the parameter itself is
trained, not a result computed from it.
"""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch.aten.node import Place
from sparkdl.interop.torch.aten.trained_arrays import is_trained
from sparkdl.nn import layers as nn

REPEATS = {"expand", "expand_as", "repeat"}
OPERANDS = {"add", "div", "mul", "sub"}  # operations that broadcast their operands
RESHAPES = {"alias", "flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view"}
# Element-wise operations, valid for any shape.
ELEMENTWISE = {
    *("abs", "add", "clamp", "clamp_max", "clamp_min", "div", "elu", "erf", "exp", "gelu", "mish"),
    *("hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mul", "neg", "pow", "reciprocal"),
    *("relu", "relu6", "rsqrt", "rsub", "selu", "sigmoid", "silu", "softplus", "sqrt", "sub"),
    "tanh",
}


def is_for_each(name, shape, made, size):
    """Returns whether a call repeats a tensor (1, ...) for each example of a batch."""
    return name in REPEATS and shape[:1] == (1,) and (size, *shape[1:]) == made


def learned(parts, module, tensor):
    """Returns the Place of a parameter, without a batch axis."""
    shape, [(name, example)] = tuple(tensor.shape) or (1,), [*parts.build.inputs.items()][:1]
    arrays = {"weight": tensor.reshape(shape)}
    place = parts.add(nn.Learned(shape=shape), [Place(name, example)], module, arrays)
    return replace(place, batched=False)


def place_of_each(node, value):
    """Returns a Place unchanged, or the Place of a constant (n, ...) with equal examples."""
    if isinstance(value, Place):
        return value
    node.need(not is_trained(value), "a parameter beside examples")
    one = once(value, node.size)
    node.need(len(one) == 1, f"a constant of shape {tuple(value.shape)} beside examples")
    return replace(learned(node.network, node.module, one[0]), batched=True)


def once(value, size):
    """Returns the first row (1, ...) of an array (size, ...) with equal rows, else the array."""
    alike = value.ndim > 1 and len(value) == size and bool((value == value[:1]).all())
    return value[:1] if alike else value


def call_without_batch(parts, name, place, made, size):
    """Returns the result of a reshape or repeat of a Place without a batch axis.

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
    """Returns a Place reshaped."""
    shape = tuple(shape) or (1,)
    if place.shape == shape:
        return place
    made = parts.add(nn.Reshape(shape=shape), (place,), "", {})
    return replace(made, batched=place.batched)


def beside(parts, place, other):
    """Returns a Place without a batch axis reshaped to the rank of another, for broadcasting."""
    if place.batched:
        return place
    shape = place.shape
    if other.batched and len(shape) == len(other.shape) + 1 and shape[0] == 1:
        shape = shape[1:]
    more = len(other.shape) - len(shape)
    if more < 0 and other.batched:
        raise UnsupportedError(f"a parameter {place.shape} beside {other.shape} is not supported")
    return reshaped(parts, place, (1,) * more + shape)
