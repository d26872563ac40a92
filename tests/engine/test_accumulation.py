"""Gradients of slices: concatenated if they do not overlap, added up if they do."""

from functools import reduce

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import numpy as jnp

from sparkdl.engine import Graph, Tensor, compile, gradients, ops, scope
from sparkdl.engine.accumulation import total
from sparkdl.engine.gradient_check import check_gradients
from tests.engine.support import run, run_plain, tensors, trace, uniform
from tests.support.gradients import value_and_grad

X = uniform(0, 4, 6)
BACKENDS = ["reference", "auto"]


def part(x, rows, columns):
    """Slices a box out of a matrix."""
    if isinstance(x, Tensor):
        return ops.slice(x, *zip(rows, columns, strict=True))
    return x[slice(*rows), slice(*columns)]


def halves(x):
    return [part(x, (0, 4), (0, 3)), part(x, (0, 4), (3, 6))]


def twice(x):
    left, right = halves(x)
    return [left * left, left, right]


ALL = (0, 4)
PARTS = {  # (slices of x, non-arithmetic operations in the graph of x's gradient)
    "one": (lambda x: [part(x, ALL, (1, 4))], {"Pad": 1}),
    "halves": (halves, {"Concat": 1}),
    "halves in any order": (lambda x: halves(x)[::-1], {"Concat": 1}),
    "rows": (lambda x: [part(x, (t, t + 1), (0, 6)) for t in range(4)], {"Concat": 1}),
    "a part used twice": (twice, {"Concat": 1, "Add": 2}),
    "the same parts cut twice": (lambda x: halves(x) + halves(x), {"Concat": 1, "Add": 2}),
    "overlapping": (
        lambda x: [part(x, ALL, (0, 4)), part(x, ALL, (2, 6))],
        {"Pad": 2, "Add": 1},
    ),
    "a third across two": (
        lambda x: [part(x, ALL, (1, 4)), *halves(x)],
        {"Pad": 1, "Concat": 1, "Add": 1},
    ),
    "beside the whole": (lambda x: [x, *halves(x), x], {"Concat": 1, "Add": 2}),
    "a gap between": (
        lambda x: [part(x, ALL, (0, 2)), part(x, ALL, (4, 6))],
        {"Pad": 1, "Concat": 1},
    ),
    "gaps around": (
        lambda x: [part(x, ALL, (1, 3)), part(x, ALL, (3, 5))],
        {"Pad": 1, "Concat": 1},
    ),
    "tiles": (
        lambda x: [part(x, r, c) for r in ((0, 1), (1, 4)) for c in ((0, 2), (2, 6))],
        {"Concat": 3},
    ),
    "tiles without a corner": (
        lambda x: [*(part(x, (0, 2), c) for c in ((0, 3), (3, 6))), part(x, (2, 4), (3, 6))],
        {"Pad": 2, "Concat": 1, "Add": 1},
    ),
    "different axes": (
        lambda x: [part(x, (0, 2), (0, 6)), part(x, ALL, (0, 3))],
        {"Pad": 2, "Add": 1},
    ),
    "corners": (
        lambda x: [part(x, (0, 2), (0, 3)), part(x, (2, 4), (3, 6))],
        {"Pad": 2, "Add": 1},
    ),
    "none of it": (lambda x: [part(x, ALL, (2, 2)), *halves(x)], {"Concat": 1}),
    "a part of a part": (
        lambda x: [part(left := halves(x)[0], ALL, (0, 1)), part(left, ALL, (1, 3))],
        {"Pad": 1, "Concat": 1},
    ),
}
TABLE = pytest.mark.parametrize("parts, counts", PARTS.values(), ids=PARTS)


def loss(m, parts, x):
    """Sums the parts with different weights."""
    terms = [m.sum(m.tanh(p) * p) * (i + 1.5) for i, p in enumerate(parts(x))]
    return reduce(lambda a, b: a + b, terms)


def found(graph):
    """Counts the operations that combine gradients."""
    names = [node.op.kind for node in graph.nodes]
    return {name: names.count(name) for name in ("Pad", "Concat", "Add") if name in names}


@TABLE
def test_gradients_match_jax(parts, counts, x64):
    _, (grad,) = value_and_grad(lambda x: loss(ops, parts, x))(X)
    theirs = jax.jit(jax.grad(lambda x: loss(jnp, parts, x)))(X)
    np.testing.assert_allclose(grad, theirs, rtol=1e-12)


@TABLE
def test_second_derivatives_match_differences(parts, counts):
    check_gradients(lambda x: loss(ops, parts, x) if isinstance(x, Tensor) else X[0, 0], X, order=2)


@TABLE
def test_parts_that_do_not_overlap_are_neither_padded_nor_added(parts, counts):
    graph = trace(lambda x: gradients(reduce(ops.add, map(ops.sum, parts(x))), [x]), X)
    assert found(graph) == counts


def pads(places, width=6):
    """Pads boxes ((row, column), array) to (4, width), as gradients of slices are."""
    return [
        ops.pad(x, at, (4 - at[0] - x.shape[0], width - at[1] - x.shape[1])) for at, x in places
    ]


def boxes(kind, *spans):
    """Returns ((row, column), array) for boxes (rows, columns), each with different numbers."""
    return [
        ((r[0], c[0]), (8 * uniform(i, r[1] - r[0], c[1] - c[0])).astype(kind))
        for i, (r, c) in enumerate(spans)
    ]


SPANS = {
    "columns": [(ALL, (0, 2)), (ALL, (2, 3)), (ALL, (3, 6))],
    "with a gap": [(ALL, (4, 6)), (ALL, (1, 2))],
    "overlapping": [(ALL, (0, 4)), (ALL, (2, 6))],
    "one place": [((1, 3), (2, 4))] * 3,
    "tiles": [((0, 2), (0, 3)), ((0, 2), (3, 6)), ((2, 4), (0, 3)), ((2, 4), (3, 6))],
    "empty ones alone": [(ALL, (0, 0)), (ALL, (3, 3))],
    "an empty one": [(ALL, (0, 3)), (ALL, (3, 3)), (ALL, (3, 6))],
}
KINDS = [np.float64, np.float32, ml_dtypes.bfloat16, np.float16, np.int32, np.int64]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spans", SPANS.values(), ids=SPANS)
def test_sums_are_those_of_padded_arrays_bit_for_bit(spans, kind, backend):
    places = boxes(kind, *spans)
    arrays = [x for _, x in places]

    def joined(*xs):
        return total(pads([(at, x) for (at, _), x in zip(places, xs, strict=True)]))

    expected = reduce(np.add, [p.copy() for p in pads(places)])
    graph = trace(joined, *arrays)
    program = compile(graph, backend)
    [y] = program.run({f"x{i}": x for i, x in enumerate(arrays)}).values()
    assert y.dtype == kind
    np.testing.assert_array_equal(y, expected)


spans = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted).filter(lambda s: s[0] < s[1])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(spans.filter(lambda s: s[1] <= 4), spans), min_size=1, max_size=7))
def test_drawn_boxes_add_up(drawn):
    places = boxes(np.int64, *drawn)

    def joined(*xs):
        return total(pads([(at, x) for (at, _), x in zip(places, xs, strict=True)], width=7))

    expected = reduce(np.add, pads(places, width=7))
    [y] = run_plain(joined, *(x for _, x in places))
    np.testing.assert_array_equal(y, expected)


def test_a_sum_of_whole_arrays_goes_in_the_order_they_came():
    x = uniform(3, 5).astype(np.float32)

    def function(x):
        return total([x, x * 3, x * 0.1, x / 7])

    np.testing.assert_array_equal(
        run(function, x)[0], ((x + x * np.float32(3)) + x * np.float32(0.1)) + x / np.float32(7)
    )


def test_a_sum_belongs_to_the_layer_of_what_came_last():
    inputs = tensors(x=X)
    with scope("parts_1"):
        y = ops.sum(reduce(ops.mul, halves(inputs["x"])))
    graph = Graph(inputs, dict(zip("g", gradients(y, [inputs["x"]]), strict=True)))
    assert [n.scope for n in graph.nodes if n.op.kind == "Concat"] == ["parts_1:grad"]
