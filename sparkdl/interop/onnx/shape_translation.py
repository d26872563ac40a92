"""Layers for nodes that move numbers: reshape, transpose, expand."""

from math import prod

import numpy as np

from sparkdl.interop.onnx.folding import MOST
from sparkdl.interop.onnx.laid_shapes import FIRST, Place, axes_of, order_axes, place_of, with_axes
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn


def integers(node, index):
    """Returns an input that must be a constant of integers as a list."""
    node.need(node.is_constant(index), f"input {index} not a constant")
    value = node.constants[node.inputs[index]]
    node.need(value.dtype.kind == "i", f"input {index} of type {value.dtype}")
    return value.reshape(-1).tolist()


def positions(node, axes, rank):
    """Returns axes counted from the front; UnsupportedError if the batch's is among them."""
    found = sorted(axis + rank if axis < 0 else axis for axis in axes)
    node.need(found and found[0] > 0 and found[-1] < rank, f"axes={axes}")
    return found


def reshape(node):
    shape = node.any_shape()
    return reshape_to(node, shape, whole_lengths(node, shape, node.lengths(1)))


def flatten(node):
    """Merges the axes before `axis`, and those from it on."""
    shape = node.any_shape()
    axes = axes_of(shape)
    axis = node.attributes.get("axis", 1)
    axis = axis + len(axes) if axis < 0 else axis
    parts = [[i for one in half for i in one] for half in (axes[:axis], axes[axis:])]
    to = [(prod(shape[i] for i in part if i is not None), None in part) for part in parts]
    return reshape_to(node, shape, to)


def reshape_to(node, shape, to):
    """Returns the Step of a reshape to pairs as of `node.lengths`."""
    held = [axis for axis, (_, has_batch) in enumerate(to) if has_batch]
    counts = [count for count, _ in to]
    node.need(len(held) == 1, f"the lengths {counts} of a batch of {tuple(shape)}")
    [axis] = held
    place = place_of(shape)
    outer, count = prod(shape[: place.index]), prod(counts[:axis])
    before = outer // max(1, count)
    fits = min(counts) > 0 and before and count * before == outer and counts[axis] % before == 0
    node.need(fits, f"the shape {counts} of an example of {tuple(shape)}")
    behind = counts[axis] // before
    inside = [n for n in (before, behind) if n > 1]
    example = (*counts[:axis], *inside, *counts[axis + 1 :])
    node.need(prod(example) == prod(shape), f"the shape {counts} of an example of {tuple(shape)}")
    made = Place(axis + (before > 1), before > 1, behind > 1, place.kind)
    return [as_shape(shape, example, made)]


def whole_lengths(node, shape, to):
    """Returns the pairs of `node.lengths`, with those of 0 and -1 filled in."""
    if not node.attributes.get("allowzero", 0):
        axes = axes_of(shape)
        kept = [(prod(shape[i] for i in a if i is not None), None in a) for a in axes]
        copies = all(i < len(kept) for i, (n, _) in enumerate(to) if n == 0)
        node.need(copies, f"the shape {to}")
        to = [kept[i] if n == 0 else (n, of_batch) for i, (n, of_batch) in enumerate(to)]
    if (-1, False) not in to:
        return to
    known = prod(n for n, _ in to if n != -1)
    rest = prod(shape) // max(1, known)
    whole = to.count((-1, False)) == 1 and rest * known == prod(shape)
    node.need(whole, f"the shape {[n for n, _ in to]} of an example of {tuple(shape)}")
    open_batch = not any(of_batch for _, of_batch in to)
    return [(rest, open_batch) if pair == (-1, False) else pair for pair in to]


def as_shape(shape, example, place):
    """Returns the Step that reshapes an example, whose Place becomes `place`."""
    example, place = with_axes(example, place)
    return Step(layer=to_shape(shape, example), place=place)


def to_shape(shape, example):
    """Returns the layer that reshapes an example."""
    same = tuple(shape) == tuple(example)
    return nn.Activation("identity") if same else nn.Reshape(shape=tuple(example))


def expand(node):
    """Repeats axes of length 1, by a product with ones."""
    shape = node.any_shape()
    axes = axes_of(shape)
    place, to = place_of(shape), node.lengths(1)
    longer = max(len(to) - len(axes), 0)
    to = [(1, False)] * (len(axes) - len(to)) + to
    node.need(not any(of_batch for _, of_batch in to[:longer]), f"the lengths {to}")
    example = [n for n, _ in to[:longer]]
    for axis, (count, of_batch) in zip(axes, to[longer:], strict=True):
        own = [shape[i] for i in axis if i is not None]
        if None in axis:
            node.need((count, of_batch) == (1, False) or (of_batch and count == prod(own)), f"{to}")
            example += own
        else:
            node.need(not of_batch and (1 in (count, *own) or own == [count]), f"the lengths {to}")
            example.append(max(count, *own))
    node.need(prod(example) <= MOST, f"a tensor of more than {MOST} numbers")
    first = Step(layer=to_shape(shape, (*[1] * longer, *shape)))
    made = place._replace(index=place.index + longer)
    return [first, *repeat((*[1] * longer, *shape), tuple(example), made)]


def repeat(shape, example, place=FIRST):
    """Returns the Steps that repeat axes of length 1."""
    if shape == example:
        return [Step(layer=nn.Activation("identity"), place=place)]
    ones = nn.Frozen(layer=nn.Learned(shape=example))
    product = nn.Broadcasting(operation="product")
    return [
        Step(layer=ones, weights={"W": np.ones(example, np.float32)}),
        Step(layer=product, sources=(BEFORE, BEFORE - 1), place=place),
    ]


def squeeze(node):
    example = node.any_shape()
    axes = axes_of(example)
    node.need(node.has(1), "axes that are left out")
    given = sorted(axis % len(axes) for axis in integers(node, 1))
    fits = given and all(None not in axes[i] and example[axes[i][0]] == 1 for i in given)
    node.need(fits, f"axes={given} of an example of {tuple(example)}")
    order, index = order_axes([axis for i, axis in enumerate(axes) if i not in given])
    to = tuple(example[i] for i in order)
    return [as_shape(example, to, place_of(example)._replace(index=index))]


def unsqueeze(node):
    example, given = node.any_shape(), integers(node, 1)
    axes = axes_of(example)
    rank = len(axes) + len(given)
    node.need(all(-rank <= axis < rank for axis in given), f"axes={given}")
    for axis in sorted(axis % rank for axis in given):
        axes.insert(axis, (len(example),))  # an axis of length 1
    order, index = order_axes(axes)
    to = tuple(example[i] if i < len(example) else 1 for i in order)
    return [as_shape(example, to, place_of(example)._replace(index=index))]


def transpose(node):
    shape = node.any_shape()
    axes = axes_of(shape)
    perm = node.attributes.get("perm", list(range(len(axes)))[::-1])
    node.need(sorted(perm) == list(range(len(axes))), f"perm={perm}")
    order, index = order_axes([axes[axis] for axis in perm])
    same = order == tuple(range(len(order)))
    layer = nn.Activation("identity") if same else nn.Permute(order=order)
    return [Step(layer=layer, place=place_of(shape)._replace(index=index))]


def pool_all(kind, shape, keeps_axes=True):
    """Returns the Steps of global pooling of images or volumes of `shape`."""
    steps = [Step(layer=nn.GlobalPool(kind=kind))]
    if keeps_axes:
        steps.append(Step(layer=nn.Reshape(shape=(shape[0], *[1] * (len(shape) - 1)))))
    return steps


SHAPE_RULES = {
    "Expand": expand,
    "Flatten": flatten,
    "Reshape": reshape,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
