"""Memory layout of matrices as passed to a BLAS library."""

import numpy as np
import pytest

from sparkdl.engine.backends.cuda.libraries.matrices import MatrixLayout, rows_of_stacks
from sparkdl.errors import UnsupportedError

STACK = np.zeros((3, 4, 6), np.float32)
LIES = [
    (STACK, MatrixLayout(False, 6, 4, 6, 24)),
    (STACK.swapaxes(1, 2), MatrixLayout(True, 6, 4, 6, 24)),
    (STACK[:1], MatrixLayout(False, 6, 4, 6, 0)),
    (STACK[:, :, :5], MatrixLayout(False, 5, 4, 6, 24)),
    (STACK[:, :1, ::2], MatrixLayout(True, 1, 3, 2, 24)),
    (STACK[:, ::2, :1], MatrixLayout(False, 1, 2, 12, 24)),
    (STACK[:, :1], MatrixLayout(False, 6, 1, 6, 24)),
]


@pytest.mark.parametrize("array, lie", LIES, ids=[str(i) for i in range(len(LIES))])
def test_how_a_matrix_lies(array, lie):
    assert MatrixLayout.of(array) == lie


@pytest.mark.parametrize("array", [STACK[:, :, ::2], np.broadcast_to(STACK[:, :1], STACK.shape)])
def test_numbers_apart_are_refused(array):
    with pytest.raises(UnsupportedError, match="neither rows nor columns lie together"):
        MatrixLayout.of(array)


def shapes(parts):
    return [[a if a is None else a.shape for a in part] for part in parts]


def test_stacks_become_rows_of_matrices():
    by_heads = np.zeros((2, 4, 3, 5)).swapaxes(1, 2)
    even, one = np.zeros((2, 3, 4, 5)), np.zeros((4, 5))
    assert shapes(rows_of_stacks([one, None])) == [[(1, 4, 5), None]]
    assert shapes(rows_of_stacks([even, even])) == [[(6, 4, 5)] * 2]
    assert shapes(rows_of_stacks([even, by_heads])) == [[(3, 4, 5)] * 2] * 2
    assert shapes(rows_of_stacks([by_heads[:, :1]])) == [[(2, 4, 5)]]
