"""Layers for ONNX's Einsum of two operands."""

from math import prod

import numpy as np

from sparkdl.interop.onnx.laid_shapes import FIRST, with_axes
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn


def einsum(node):
    """Returns a matrix product of two computed operands, or a dense layer of a constant one."""
    given, out = labels_of(node)
    computed = [i for i in (0, 1) if node.is_computed(i)]
    lengths = {}
    for i, labels in enumerate(given):
        shape = (0, *node.shape(i)) if i in computed else node.constant(i).shape
        node.need(len(shape) == len(labels), f"the labels {labels} of {shape}")
        lengths |= zip(labels, shape, strict=True)
    first = {given[i][0] for i in computed} | {out[:1]}
    inside = "".join(labels[i in computed :] for i, labels in enumerate(given))
    batch = len(first) == 1 and first.isdisjoint(inside)
    node.need(computed and batch, "a batch that is not the first axis of operands and output")
    if len(computed) == 2:
        return product([labels[1:] for labels in given], out[1:], lengths)
    [x] = computed
    return dense(node, x, given[x][1:], given[1 - x], out[1:], lengths)


def labels_of(node):
    """Returns (the labels of two operands, those of the output)."""
    left, arrow, out = node.attributes["equation"].replace(" ", "").partition("->")
    given = left.split(",")
    node.need(arrow and len(given) == 2 and "." not in left, f"the equation {left}{arrow}{out}")
    whole = [*given, out]
    unique = all(len(set(labels)) == len(labels) for labels in whole)
    summed = all(
        set(labels) <= set(other + out) for labels, other in zip(given, given[::-1], strict=True)
    )
    node.need(unique and summed, f"the equation {left}{arrow}{out}")
    return given, out


def product(given, out, lengths):
    x, y = given
    shared = [label for label in out if label in x and label in y]
    rows, columns = (
        [label for label in own if label not in other] for own, other in (given, given[::-1])
    )
    inner = [label for label in x if label in y and label not in out]
    sizes = [lengths[label] for label in shared]
    m, k, n = (prod(lengths[label] for label in labels) for labels in (rows, inner, columns))
    made = "".join([*shared, *rows, *columns])
    return [
        *arrange_operand(x, [*shared, *rows, *inner], (*sizes, m, k), 0),
        *arrange_operand(y, [*shared, *inner, *columns], (*sizes, k, n), 1),
        Step(layer=nn.MatMul(), sources=(BEFORE - 2, BEFORE)),
        *arrange_output(made, out, lengths),
    ]


def dense(node, x, labels, of_constant, out, lengths):
    inner = [label for label in labels if label in of_constant]
    node.need(not set(inner) & set(out), "a constant that differs along an axis of the output")
    rows = [label for label in labels if label not in of_constant]
    columns = [label for label in of_constant if label not in inner]
    sizes = {
        name: prod(lengths[label] for label in own) for name, own in (("k", inner), ("n", columns))
    }
    order = [of_constant.index(label) for label in [*inner, *columns]]
    W = np.transpose(node.constant(1 - x), order).reshape(sizes["k"], sizes["n"])
    height = [prod(lengths[label] for label in rows)] if rows else []
    return [
        *arrange_operand(labels, [*rows, *inner], (*height, sizes["k"]), x),
        Step(layer=nn.Dense(units=sizes["n"], bias=False), weights={"W": W}),
        *arrange_output("".join([*rows, *columns]), out, lengths),
    ]


def arrange_operand(labels, order, shape, source):
    """Returns the Steps that permute an operand's axes, and merge them to a matrix of `shape`."""
    turn = nn.Permute(order=tuple(labels.index(label) for label in order))
    return [Step(layer=turn, sources=(source,)), Step(layer=nn.Reshape(shape=shape))]


def arrange_output(made, out, lengths):
    """Returns the Steps from a matrix to the axes of the output."""
    if not out:
        example, place = with_axes((), FIRST)
        return [Step(layer=nn.Reshape(shape=example), place=place)]
    apart = nn.Reshape(shape=tuple(lengths[label] for label in made))
    order = tuple(made.index(label) for label in out)
    turn = [Step(layer=nn.Permute(order=order))] if order != tuple(range(len(made))) else []
    return [Step(layer=apart), *turn]
