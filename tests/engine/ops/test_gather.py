"""Table lookups by index: random shapes against numpy, and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.errors import DataError, ShapeError
from tests.engine.support import feeds, trace


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_are_added_where_their_numbers_say(data):
    rows = data.draw(st.integers(1, 9))
    shape = tuple(data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=3)))
    row = tuple(data.draw(st.lists(st.integers(1, 5), max_size=2)))
    rng = np.random.default_rng(0)
    indices, y = rng.integers(0, rows, shape), rng.normal(size=(*shape, *row))
    expected = np.zeros((rows, *row))
    np.add.at(expected, indices, y)
    np.testing.assert_allclose(ops.scatter_add(y, indices, rows), expected, atol=1e-12)
    np.testing.assert_array_equal(ops.gather(expected, indices), expected[indices])


def test_a_program_fills_its_memory_anew_each_time():
    y, indices = np.ones((4, 2), np.float32), np.array([0, 2, 2, 0])
    program = compile(trace(lambda y, i: ops.scatter_add(y, i, 3), y, indices))
    for order in (indices, indices[::-1] % 2, indices):
        found = program.run(feeds([y, order]))["y0"]
        np.testing.assert_array_equal(found[:, 0], np.bincount(order, minlength=3))


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_index_that_is_not_there_is_an_error_in_a_program_too(wrong):
    table, indices = np.ones((3, 2), np.float32), np.array([0, wrong])
    program = compile(trace(ops.gather, table, indices))
    with pytest.raises(DataError, match=rf"an index must be in \[0, 3\), got {wrong}"):
        program.run(feeds([table, indices]))
    with pytest.raises(DataError, match=rf"an index must be in \[0, 3\), got {wrong}"):
        ops.scatter_add(np.ones((2, 2)), indices, 3)


REFUSED = {
    "indices must be integers": lambda: ops.gather(np.ones((3, 2)), np.ones(2)),
    r"a table \(n, ...\), got \(\)": lambda: ops.gather(np.ones(()), np.ones(2, int)),
    r"does not fit indices \(3,\)": lambda: ops.scatter_add(np.ones((2, 2)), np.ones(3, int), 4),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refuses(message):
    with pytest.raises(ShapeError, match=message):
        REFUSED[message]()
