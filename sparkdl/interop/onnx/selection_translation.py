"""Layers for look-ups in tables and for slices of computed tensors."""

from itertools import accumulate, pairwise

from sparkdl.interop.axis_layers import lengths_of_parts
from sparkdl.interop.onnx.laid_shapes import CUT, WHOLE, batch_of
from sparkdl.interop.onnx.shape_translation import integers, positions
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.dense.embedding import EXACT


def gather(node):
    """Looks up computed integers in a constant table, or takes constant indices of a tensor."""
    axis = node.attributes.get("axis", 0)
    return look_up(node, axis) if node.is_constant(0) else select(node, axis)


def look_up(node, axis):
    table, shape = node.constant(0), node.any_shape(1)
    node.need(batch_of(shape) in (CUT, WHOLE), "looking up floats")
    fits = table.ndim == 2 and axis == 0 and len(shape) in (1, 2) and shape[1:] in ((), (1,))
    node.need(fits, f"axis {axis} of {table.shape} for {tuple(shape)} of an example")
    exact = len(table) <= EXACT
    node.need(exact, f"numbers of {len(table)} rows as float32 (OnnxFunction keeps integers)")
    layer = nn.EmbeddingSequence(vocabulary_size=len(table), units=table.shape[1])
    steps = [Step(layer=layer, weights={"W": table}, sources=(1,))]
    if len(shape) == 2:
        steps.append(Step(layer=nn.Reshape(shape=(*shape, table.shape[1]))))
    return steps


def select(node, axis):
    """Takes adjacent indices, whose axes replace the sliced one; a single number removes it."""
    shape, places = node.shape(), integers(node, 1)
    [axis] = positions(node, [axis], len(shape) + 1)
    length = shape[axis - 1]
    places = [place % length if -length <= place < length else -1 for place in places]
    row = list(range(places[0], places[0] + len(places))) if places else []
    node.need(row and places == row and places[0] >= 0, f"the indices {places} of {length}")
    steps = [part(places[0], places[-1] + 1, axis)]
    indices = node.constants[node.inputs[1]].shape
    if len(indices) != 1:
        to = (*shape[: axis - 1], *indices, *shape[axis:])
        node.need(to, "an example without axes")
        steps.append(Step(layer=nn.Reshape(shape=to)))
    return steps


def cut(node):
    """ONNX's Slice."""
    shape, starts, ends = node.shape(), integers(node, 1), integers(node, 2)
    axes = integers(node, 3) if node.has(3) else list(range(len(starts)))
    node.need(not node.has(4) or set(integers(node, 4)) == {1}, "steps other than 1")
    steps = []
    for axis, start, end in zip(axes, starts, ends, strict=True):
        [place] = positions(node, [axis], len(shape) + 1)
        start, stop, _ = slice(start, end).indices(shape[place - 1])
        node.need(start < stop, f"{start} to {stop} of axis {axis}")
        steps.append(part(start, stop, place))
    node.need(steps, "no axes")
    return steps


def split(node):
    shape, axis = node.shape(), node.attributes.get("axis", 0)
    [axis] = positions(node, [axis], len(shape) + 1)
    length, count = shape[axis - 1], len(node.outputs)
    if node.has(1):
        sizes = integers(node, 1)
    else:
        sizes = lengths_of_parts(length, -(-length // node.attributes.get("num_outputs", count)))
    whole = len(sizes) == count and sum(sizes) == length and min(sizes) > 0
    node.need(whole, f"the lengths {sizes} of {length}")
    pairs = enumerate(pairwise(accumulate(sizes, initial=0)))
    return [part(*bounds, axis, sources=(0,), output=i) for i, bounds in pairs]


def part(start, stop, axis, **options):
    """Returns the Step that slices a tensor along an axis."""
    return Step(layer=nn.Subset(start=start, stop=stop, axis=axis - 1), **options)


SELECTION_RULES = {"Gather": gather, "Slice": cut, "Split": split}
