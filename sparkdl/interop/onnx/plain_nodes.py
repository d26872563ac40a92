"""Nodes as if the batch were the first axis of their inputs, for rules that need it there."""

from dataclasses import replace

import numpy as np

from sparkdl.interop.onnx.folding import MOVING, length_axis, take_example
from sparkdl.interop.onnx.laid_shapes import FIRST, FLOATS, WHOLE, Place, axes_of, place_of
from sparkdl.nn import layers as nn

LARGEST_EXACT = 2**24  # of the integers that 32-bit floats have
# Operations that compute each number apart, and answer booleans.
DECIDING = {"And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or"}
# Operations on two integers that would have to be exact.
ROUNDING = {"Add", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Sub"}
READING = {"Cast", "Gather"}  # operations that read integers without computing with them
# Operations on floats whose rules do not care where the batch is, but for an axis of their own.
OF_AXIS = {"LayerNormalization", "LogSoftmax", "Softmax"}
PRODUCTS = {"Gemm", "MatMul"}
OF_FLOATS = (
    OF_AXIS
    | PRODUCTS
    | {
        *("Celu", "Clip", "Dropout", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish"),
        *("LeakyRelu", "Log", "Min", "Mish", "Pow", "Reciprocal", "Relu", "Selu", "Sigmoid"),
        *("IsNaN", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh"),
    }
)
# Operations that a TimeDistributed layer computes for each row of examples.
OF_ROWS = {
    *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace"),
    *("GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN"),
    *("MaxPool", "PRelu", "Pad", "Resize", "SpaceToDepth"),
}
# Operations on floats or integers.
OF_ANY = {"Abs", "Add", "Div", "Max", "Mul", "Neg", "Sub", "Where"} | DECIDING


def plain_node(node):
    """Returns (the node with the batch first, the Place of what it computes).

    Raises
    ------
    UnsupportedError
        If its inputs have the batch along different axes.
    """
    computed = {name: node.shapes[name] for name in node.inputs if name in node.shapes}
    if node.op not in OF_FLOATS | OF_ANY or not computed:
        return node, None
    places = {place_of(shape)._replace(kind=FLOATS) for shape in computed.values()}
    node.need(len(places) == 1, "a batch along different axes of the inputs")
    [place] = places
    kinds = {place_of(shape).kind for shape in computed.values()}
    allowed = {FLOATS, WHOLE} if node.op in OF_ANY else {FLOATS}
    node.need(
        kinds <= allowed and (node.op != "Div" or kinds == {FLOATS}), "computing with integers"
    )
    rounds = node.op in ROUNDING and all(place_of(s).kind == WHOLE for s in computed.values())
    node.need(not rounds or len(computed) == 1, "sums and comparisons of two tensors of integers")
    node.need(not rounds_product(node, computed), "products of two tensors of integers")
    node.need(not rounds_multiple(node, computed), "computing with multiples of integers")
    kind = kind_of(node, computed)
    ranks = {len(axes_of(shape)) for shape in computed.values()}
    node.need(len(ranks) == 1 or place == FIRST, "broadcasting of a batch that is not first")
    widest = max(computed.values(), key=len)
    attributes = node.attributes
    if node.op in OF_AXIS and place != FIRST:
        axis = node.axis(attributes.get("axis", -1))
        node.need(node.op != "LayerNormalization" or place.index <= axis, "norms over the batch")
        attributes = attributes | {"axis": axis + 1}
    constants = [name for name in node.inputs if name and name not in computed]
    if node.op in PRODUCTS:
        free = len(widest) - (1 if constants else 2)
        node.need(place.index + place.behind <= free, "products along the batch")
        node.need(node.op == "MatMul" or len(axes_of(widest)) == 2, "a product of other rows")
        stacked = any(array_of(node, name).ndim > 2 for name in constants)
        node.need(not stacked or place == Place(1), "several matrices beside such a batch")
    made = {}
    if node.op not in OF_AXIS | PRODUCTS:
        made = {name: beside_batch(node, name, widest) for name in constants}
    shapes = {name: tuple(shape) for name, shape in computed.items()}
    plain = replace(
        node,
        attributes=attributes,
        shapes=node.shapes | shapes,
        constants=node.constants | made,
    )
    return plain, place._replace(kind=kind)


def rounds_product(node, computed):
    """Returns whether a node multiplies integers that are not 0 or 1, which floats may round."""
    read = [name for name in node.inputs if name in computed]
    whole = all(place_of(computed[name]).kind == WHOLE for name in read)
    return node.op == "Mul" and len(read) == 2 and whole and node.bits.isdisjoint(read)


def rounds_multiple(node, computed):
    """Returns whether multiples of integers, which floats may round, are computed with."""
    name, *others = computed
    if node.op != "Mul" or others or place_of(computed[name]).kind == FLOATS:
        return False
    factors = [array_of(node, other) for other in node.inputs if other != name]
    small = name in node.bits or all(np.isin(factor, (-1, 0, 1)).all() for factor in factors)
    return not small and not node.readers.get(node.outputs[0], set()) <= READING


def has_bits(node):
    """Returns whether a node computes booleans, or integers 0 and 1 made of them."""
    if node.op in DECIDING | {"IsNaN"}:
        return True
    moved = node.inputs if node.op == "Concat" else node.inputs[:1]
    return node.op in MOVING and all(is_bits(node, name) for name in moved)


def is_bits(node, name):
    """Returns whether a tensor is 0 and 1."""
    known = node.constants.get(name)
    return name in node.bits or (known is not None and bool(np.isin(known, (0, 1)).all()))


def has_rows(node):
    """Returns whether a node takes rows of examples, merged with the batch, as examples."""
    if node.op not in OF_ROWS or not node.is_computed(0):
        return False
    shape = node.any_shape(0)
    return place_of(shape) == Place(0, behind=True) and len(shape) > 1


def of_rows(rule, node):
    """Returns the Steps of a node that takes rows of examples as examples."""
    name, shape = node.inputs[0], node.any_shape(0)
    steps = rule(replace(node, shapes=node.shapes | {name: tuple(shape[1:])}))
    return [replace(step, layer=nn.TimeDistributed(layer=step.layer)) for step in steps]


def kind_of(node, computed):
    """Returns the kind of the numbers that a node computes."""
    if node.op in DECIDING | {"IsNaN"}:
        return WHOLE
    values = node.inputs[1:] if node.op == "Where" else node.inputs
    kinds = {place_of(computed[name]).kind for name in values if name in computed}
    if not kinds:
        arrays = [array_of(node, name) for name in values]
        return FLOATS if all(array.dtype.kind == "f" for array in arrays) else WHOLE
    node.need(len(kinds) == 1, "floats beside integers")
    return kinds.pop()


def array_of(node, name):
    return node.constants[name] if name in node.constants else node.of_batch[name][0]


def beside_batch(node, name, shape):
    """Returns a constant with the axes of an example; along the batch it must not vary."""
    axes = axes_of(shape)
    value = take_constant(node, name, len(axes), batch_axis(axes))
    node.need(value.dtype in (np.float32, np.int64, np.int32, np.bool_), f"type {value.dtype}")
    if value.dtype.kind == "i":
        node.need((np.abs(value) < LARGEST_EXACT).all(), "integers of 2^24 or more")
    value = value.astype(np.float32)
    node.need(value.ndim <= len(axes), f"a constant of more axes, {value.shape},")
    if place_of(shape) == FIRST:
        return value
    value = value.reshape((1,) * (len(axes) - value.ndim) + value.shape)
    place = batch_axis(axes)
    if value.shape[place] > 1 and (value == value.take([0], place)).all():
        value = value.take([0], place)
    node.need(value.shape[place] == 1, f"a constant of shape {value.shape} that varies")
    ones = (1,) * (len(axes[place]) - 1)
    return value.reshape((1, *value.shape[:place], *ones, *value.shape[place + 1 :]))


def batch_axis(axes):
    """Returns which of the axes as of `axes_of` is the batch's."""
    return next(i for i, axis in enumerate(axes) if None in axis)


def take_constant(node, name, rank=None, place=None):
    """Returns a constant; one that has the length of the batch has 1 in its place.

    It must be the axis `place` of a tensor of `rank` axes that it is broadcast to, if given.
    """
    if name in node.constants:
        return node.constants[name]
    arrays = node.of_batch[name]
    value = take_example(arrays)
    node.need(value is not None, "computing with the size of the batch")
    own = place is None or rank - value.ndim + length_axis(arrays) == place
    node.need(own, "numbers for each example along another axis than the batch's")
    return value
