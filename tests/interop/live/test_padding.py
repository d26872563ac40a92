"""Which inputs of live models may be padded, and which are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.live.padding import check_padding, check_steps, takes_steps


def model(shape=(5, 2), kind="float32", padding="refused"):
    return SimpleNamespace(input_shape=shape, input_type=kind, padding=padding)


@pytest.mark.parametrize(
    "shape, kind, padding, takes",
    [
        ((5, 2), "float32", "refused", True),
        ((5, 2), "float32", "zeros", True),
        ((5,), "int64", "refused", False),
        ((5,), "int64", "zeros", True),
        ((5,), "float32", "refused", False),
        ((3, 8, 8), "float32", "refused", False),
    ],
)
def test_sequences_are_rows_of_steps_and_ids_where_it_is_said(shape, kind, padding, takes):
    assert takes_steps(model(shape, kind, padding)) is takes
    check_padding(model(shape, kind, padding))


@pytest.mark.parametrize("shape", [(5,), (3, 8, 8)])
def test_what_has_no_steps_is_not_padded(shape):
    with pytest.raises(ConfigError, match=r'padding must be "refused" unless examples are'):
        check_padding(model(shape, padding="zeros"))


def test_missing_steps_are_refused_unless_zeros_stand_for_them():
    mask = np.float32([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    with pytest.raises(DataError, match=r'must have 5 steps, got 2; .*\(padding="zeros"\)'):
        check_steps(model(), mask)
    for given in (None, np.ones((2, 5))):
        check_steps(model(), given)
    check_steps(model(padding="zeros"), mask)
