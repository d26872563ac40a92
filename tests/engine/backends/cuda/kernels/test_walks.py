"""Work divided among many blocks, as on a GPU with more processors than the double's two."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine import gradients, ops
from sparkdl.engine.backends.cuda.kernels.walks import parts_needed
from tests.engine.backends.cuda.lowerings.test_channels import normalized
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import trace

PROCESSORS = 132  # as on an H200


@pytest.fixture(autouse=True)
def many_processors(cuda, monkeypatch):
    driver = cuda.device.driver
    monkeypatch.setattr(driver, "properties", replace(driver.properties, processors=PROCESSORS))


@pytest.mark.parametrize(
    "length, parts, expected",
    [(0, 1, 1), (1, 1, 1), (9, 6, 5), (10, 5, 5), (33_793, 528, 520), (200_704, 528, 527)],
)
def test_no_part_is_empty(length, parts, expected):
    assert parts_needed(length, parts) == expected


ROWS = 64 * 4 * PROCESSORS + 1  # 65 rows per block for 528 blocks, but 520 blocks suffice


def test_no_block_reduces_what_lies_behind_the_end(rng):
    x = rng.random((ROWS, 32), np.float32)
    assert_same(trace(lambda x: ops.sum(x, 0), x), [x], 1e-5, runs=1)


@pytest.mark.slow
def test_no_block_takes_moments_or_slopes_of_what_lies_behind_the_end(rng):
    arrays = [rng.normal(1, 2, (ROWS, 32)).astype("f4"), *rng.normal(1, 1, (2, 32)).astype("f4")]
    assert_same(trace(normalized, *arrays), arrays, 1e-4, runs=1)


@pytest.mark.slow
def test_no_block_sees_windows_behind_the_last(rng):
    x, w = rng.random((1, 1, 135_169), np.float32), rng.random((1, 1, 1), np.float32)

    def gradient(x, w):
        return gradients(ops.sum(ops.conv(x, w)), [w])

    assert_same(trace(gradient, x, w), (x, w), 1e-4, runs=1)
