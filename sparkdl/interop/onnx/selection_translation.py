"""Layers for look-ups in tables and for slices of computed tensors."""

from itertools import accumulate, pairwise

from sparkdl.interop.axis_layers import lengths_of_parts
from sparkdl.interop.onnx.laid_shapes import FLOATS, place_of, with_axes
from sparkdl.interop.onnx.shape_translation import as_shape, integers
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.dense.embedding import EXACT


def gather(node):
    """Looks up computed integers in a constant table, or takes constant indices of a tensor."""
    axis = node.attributes.get("axis", 0)
    return look_up(node, axis) if node.is_constant(0) else select(node, axis)


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


def cut(node):
    """ONNX's Slice."""
    shape, starts, ends = node.any_shape(), integers(node, 1), integers(node, 2)
    axes = integers(node, 3) if node.has(3) else list(range(len(starts)))
    node.need(not node.has(4) or set(integers(node, 4)) == {1}, "steps other than 1")
    steps = []
    for axis, start, end in zip(axes, starts, ends, strict=True):
        axis = node.axis(axis)
        start, stop, _ = slice(start, end).indices(shape[axis])
        node.need(start < stop, f"{start} to {stop} of axis {axis}")
        steps.append(part(start, stop, axis, place=place_of(shape)))
    node.need(steps, "no axes")
    return steps


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


SELECTION_RULES = {"Gather": gather, "Slice": cut, "Split": split}
