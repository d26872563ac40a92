"""Layers for look-ups in tables and for slices of computed tensors."""

from itertools import accumulate, pairwise

import numpy as np

from sparkdl.interop.axis_layers import lengths_of_parts
from sparkdl.interop.constant_operands import line
from sparkdl.interop.onnx.folding import SIZES
from sparkdl.interop.onnx.laid_shapes import FIRST, FLOATS, WHOLE, Place, place_of, with_axes
from sparkdl.interop.onnx.plain_nodes import take_constant
from sparkdl.interop.onnx.shape_translation import as_shape, integers
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.dense.embedding import EXACT


def gather(node):
    """Looks up computed integers in a constant table, or takes constant indices of a tensor."""
    axis = node.attributes.get("axis", 0)
    if node.is_constant(0):
        return look_up(node, axis)
    return select_own(node, axis) if node.inputs[1] in node.of_batch else select(node, axis)


def look_up(node, axis):
    table, shape = node.constant(0), node.any_shape(1)
    place = place_of(shape)
    node.need(place.kind != FLOATS, "looking up floats")
    node.need(not place.before, "looking up a batch that is merged with other axes")
    node.need(table.ndim == 2 and axis == 0 and len(shape) > 0, f"axis {axis} of {table.shape}")
    exact = len(table) <= EXACT
    node.need(exact, f"numbers of {len(table)} rows as float32 (OnnxFunction keeps integers)")
    layer = nn.EmbeddingSequence(vocabulary_size=len(table), units=table.shape[1])
    weights = {"W": table}
    flat = Step(layer=nn.Reshape(shape=(-1,)), sources=(1,))
    found = (
        [Step(layer=layer, weights=weights, sources=(1,))]
        if len(shape) == 1
        else [flat, Step(layer=layer, weights=weights)]
    )
    rows, place = with_axes((*shape, table.shape[1]), place._replace(kind=FLOATS))
    return [*found, Step(layer=nn.Reshape(shape=rows), place=place)]


def select(node, axis):
    """Takes adjacent indices, whose axes replace the sliced one; a single number removes it."""
    shape, axis, places = node.any_shape(), node.axis(axis), integers(node, 1)
    length, place = shape[axis], place_of(shape)
    places = [place % length if -length <= place < length else -1 for place in places]
    row = list(range(places[0], places[0] + len(places))) if places else []
    node.need(row and places == row and places[0] >= 0, f"the indices {places} of {length}")
    steps = [part(places[0], places[-1] + 1, axis, place=place)]
    indices = node.constants[node.inputs[1]].shape
    if len(indices) != 1:
        to = (*shape[:axis], *indices, *shape[axis + 1 :])
        index = place.index + (len(indices) - 1) * (axis < place.index)
        cut = (*shape[:axis], len(places), *shape[axis + 1 :])
        steps.append(as_shape(cut, to, place._replace(index=index)))
    return steps


def select_own(node, axis):
    """Takes numbers of each example out of the rows of all examples, merged with the batch.

    Such indices are b length + i for the example b, as Hugging Face's models have them.
    """
    shape, arrays = node.any_shape(), node.of_batch[node.inputs[1]]
    place = place_of(shape)
    rows = axis == 0 and place.index == 0 and place.behind and not place.before
    node.need(rows, "indices that depend on the size of the batch")
    own = arrays[0][0]
    for size, array in zip(SIZES, arrays, strict=True):
        starts = (np.arange(size) * shape[0]).reshape(-1, *[1] * own.ndim)
        alike = array.shape == (size, *own.shape) and (array == own + starts).all()
        node.need(alike, "indices that differ from example to example")
    return select_adjacent(node, own)


def gather_nd(node):
    """Takes numbers of each example by pairs of its own number and an index."""
    shape, arrays = node.any_shape(), node.of_batch.get(node.inputs[1])
    node.only(batch_dims=0)
    place = place_of(shape)._replace(kind=FLOATS)
    pairs = place == FIRST and arrays is not None and arrays[0].shape[-1] == 2
    node.need(pairs, "indices that depend on the size of the batch")
    own = arrays[0][0, ..., 1]
    for size, array in zip(SIZES, arrays, strict=True):
        examples = np.arange(size).reshape(-1, *[1] * own.ndim)
        alike = array.shape == (size, *own.shape, 2) and (array[..., 1] == own).all()
        alike = alike and (array[..., 0] == examples).all()
        node.need(alike, "indices that differ from example to example")
    return select_adjacent(node, own)


def select_adjacent(node, own):
    """Takes the same adjacent indices of the first axis of each example."""
    shape, start = node.any_shape(), int(own.flat[0])
    stop = start + own.size
    adjacent = own.reshape(-1).tolist() == list(range(start, stop))
    fits = adjacent and start >= 0 and stop <= shape[0]
    node.need(fits, f"the indices {own.reshape(-1).tolist()} of {shape[0]}")
    to, place = (*own.shape, *shape[1:]), Place(kind=place_of(shape).kind)
    return [part(start, stop, 0), as_shape((own.size, *shape[1:]), to, place)]


def gather_elements(node):
    """Looks up computed indices in a constant that has one number throughout."""
    node.need(not node.is_computed(0) and node.is_computed(1), "indices of computed numbers")
    value, shape = take_constant(node, node.inputs[0]), node.any_shape(1)
    alike = value.size > 0 and (value == value.flat[0]).all()
    node.need(alike and value.dtype.kind in "fi", "looking up single numbers")
    kind = FLOATS if value.dtype.kind == "f" else WHOLE
    number = line(scale=0.0, shift=float(value.flat[0]))
    return [Step(layer=number, sources=(1,), place=place_of(shape)._replace(kind=kind))]


def cut(node):
    """ONNX's Slice."""
    shape, starts, ends = node.any_shape(), integers(node, 1), integers(node, 2)
    axes = integers(node, 3) if node.has(3) else list(range(len(starts)))
    by = integers(node, 4) if node.has(4) else [1]
    if by == [-1]:
        return reverse(node, *axes, *starts, *ends)
    node.need(set(by) == {1}, "steps other than 1")
    steps = []
    for axis, start, end in zip(axes, starts, ends, strict=True):
        axis = node.axis(axis)
        start, stop, _ = slice(start, end).indices(shape[axis])
        node.need(start < stop, f"{start} to {stop} of axis {axis}")
        steps.append(part(start, stop, axis, place=place_of(shape)))
    node.need(steps, "no axes")
    return steps


def reverse(node, axis, start, end):
    """Returns the Steps of the first axis of each example in reverse order."""
    shape = node.shape()
    whole = slice(start, end, -1).indices(shape[0]) == (shape[0] - 1, -1, -1)
    node.need(node.axis(axis) == 0 and whole, f"steps of -1 over a part, or along axis {axis},")
    layers = nn.Reshape(shape=(shape[0], -1)), nn.ReverseTime(), nn.Reshape(shape=shape)
    return [Step(layer=layer) for layer in layers[len(shape) == 2 :]]


def split(node):
    shape, axis = node.any_shape(), node.axis(node.attributes.get("axis", 0))
    length, count = shape[axis], len(node.outputs)
    if node.has(1):
        sizes = integers(node, 1)
    else:
        sizes = lengths_of_parts(length, -(-length // node.attributes.get("num_outputs", count)))
    whole = len(sizes) == count and sum(sizes) == length and min(sizes) > 0
    node.need(whole, f"the lengths {sizes} of {length}")
    options = {"sources": (0,), "place": place_of(shape)}
    pairs = enumerate(pairwise(accumulate(sizes, initial=0)))
    return [part(*bounds, axis, output=i, **options) for i, bounds in pairs]


def part(start, stop, axis, **options):
    """Returns the Step that slices an axis of an example."""
    return Step(layer=nn.Subset(start=start, stop=stop, axis=axis), **options)


SELECTION_RULES = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Slice": cut,
    "Split": split,
}
