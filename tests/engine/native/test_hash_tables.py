"""Inputs that hash table kernels reject; tests/nn/tables/test_id_index.py covers their results."""

import numpy as np
import pytest

from sparkdl.engine.native import hash_tables
from sparkdl.errors import OperandError

KEYS = np.zeros(4, np.int16), np.arange(4)
ENTRIES = np.full(9, -1, np.int32)

ERRORS = {
    "type of ids": lambda: hash_tables.enter((KEYS[0], np.arange(4.0)), ENTRIES.copy(), 0, 4),
    "type of entries": lambda: hash_tables.enter(KEYS, np.full(9, -1), 0, 4),
    "gaps": lambda: hash_tables.find(
        KEYS, (KEYS[0], np.arange(8)[::2]), ENTRIES, np.empty(4, np.int64)
    ),
    "fewer tables than ids": lambda: hash_tables.enter(
        (KEYS[0][:3], KEYS[1]), ENTRIES.copy(), 0, 4
    ),
    "fewer ids than places": lambda: hash_tables.find(KEYS, KEYS, ENTRIES, np.empty(5, np.int64)),
    "order of rows": lambda: hash_tables.add_rows(
        [np.ones((3, 4), np.float32).T], KEYS[1], np.zeros((4, 3), np.float32)
    ),
    "narrower rows": lambda: hash_tables.add_rows(
        [np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)],
        np.zeros(8, np.int64),
        np.zeros((4, 3), np.float32),
    ),
    "fewer numbers than rows": lambda: hash_tables.add_rows(
        [np.ones((4, 3), np.float32)] * 2, np.zeros(7, np.int64), np.zeros((4, 3), np.float32)
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_other_arrays_are_refused(name):
    with pytest.raises(OperandError, match="hash table"):
        ERRORS[name]()
