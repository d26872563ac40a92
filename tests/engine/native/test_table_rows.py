"""Inputs that the row loop rejects; tests/nn/tables/test_row_moves.py covers its results."""

import numpy as np
import pytest

from sparkdl.engine.chains import ChainOp
from sparkdl.engine.native.table_rows import OWN, PLACED, SHARED, move_rows
from sparkdl.engine.ops.elementwise import AddOp
from sparkdl.errors import OperandError

ADD = ChainOp(steps=((AddOp(), (0, 1)),), results=(0,))
PLACES = np.array([3, 1])


def add(rows, terms, places=PLACES, kind=OWN):
    """Adds terms to the rows at these positions."""
    move_rows(ADD, [(rows, PLACED), (terms, kind)], [rows], places)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


ERRORS = {
    "place behind the last row": lambda: add(zeros(3, 5), zeros(2, 5)),
    "fewer terms than places": lambda: add(zeros(4, 5), zeros(1, 5)),
    "narrower terms": lambda: add(zeros(4, 5), zeros(2, 4)),
    "type of rows": lambda: add(zeros(4, 5, dtype=np.float64), zeros(2, 5)),
    "type of terms": lambda: add(zeros(4, 5), zeros(2, 5, dtype=np.float64)),
    "type of places": lambda: add(zeros(4, 5), zeros(2, 5), PLACES.astype(np.int32)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_other_arrays_are_refused(name):
    with pytest.raises(OperandError, match="needs"):
        ERRORS[name]()


@pytest.mark.parametrize("places", [[], [0], [3, 1], [2, 0, 3, 1]])
@pytest.mark.parametrize("kind", [OWN, SHARED])
def test_rows_at_places_change_and_no_others(places, kind):
    rows = np.arange(20, dtype=np.float32).reshape(4, 5)
    terms = np.float32(7) if kind == SHARED else np.arange(len(places) * 5.0).reshape(-1, 5)
    expected = rows.copy()
    expected[places] += terms.astype(np.float32)
    add(rows, np.asarray(terms, np.float32), np.array(places, np.int64), kind)
    np.testing.assert_array_equal(rows, expected)
