"""Positions of named arrays in a vector."""

import numpy as np
import pytest

from sparkdl.errors import ShapeError
from sparkdl.nn.layout import Layout
from tests.nn.support import run_as_graph

LAYOUT = Layout((("a/W", (2, 3)), ("a/b", (3,)), ("net/c/W", (1, 4)), ("d/s", ())))


def test_arrays_lie_one_behind_the_other():
    assert LAYOUT.size == 14
    assert LAYOUT.slices == {
        "a/W": slice(0, 6),
        "a/b": slice(6, 9),
        "net/c/W": slice(9, 13),
        "d/s": slice(13, 14),
    }
    assert LAYOUT.split_by_layer == {"a": slice(0, 9), "net/c": slice(9, 13), "d": slice(13, 14)}


def test_views_share_memory_with_the_vector():
    vector = np.arange(14.0)
    views = LAYOUT.views(vector)
    assert {name: view.shape for name, view in views.items()} == dict(LAYOUT.entries)
    views["a/b"][...] = -1
    np.testing.assert_array_equal(vector[6:9], -1)
    assert views["net/c/W"].tolist() == [[9, 10, 11, 12]]
    assert all(np.shares_memory(view, vector) for view in views.values())


def test_views_of_a_tensor_are_parts_of_the_graph():
    vector = np.arange(14.0)
    values = run_as_graph(lambda v: LAYOUT.views(v).values(), vector)
    for view, value in zip(LAYOUT.views(vector).values(), values, strict=True):
        np.testing.assert_array_equal(value, view)


def test_a_vector_from_arrays_gives_them_back(rng):
    arrays = {name: rng.normal(size=shape) for name, shape in LAYOUT.entries}
    vector = LAYOUT.vector(arrays)
    assert vector.dtype == np.float32
    for name, view in LAYOUT.views(vector).items():
        np.testing.assert_array_equal(view, arrays[name].astype(np.float32))


def test_an_empty_layout_has_an_empty_vector():
    assert Layout().size == 0
    assert Layout().views(np.zeros(0)) == {}


def test_refuses_a_vector_of_another_length():
    with pytest.raises(ShapeError, match=r"the layout needs a vector \(14,\), got \(13,\)"):
        LAYOUT.views(np.zeros(13))
    with pytest.raises(ShapeError, match=r"the layout needs a vector \(14,\), got \(14, 1\)"):
        LAYOUT.views(np.zeros((14, 1)))
