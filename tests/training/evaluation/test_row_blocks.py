"""Blocks hold every row once."""

import pytest

from sparkdl.training.evaluation.row_blocks import blocks_of


@pytest.mark.parametrize("shape, blocks", [((7, 3), 4), ((0, 3), 0), ((2, 99), 2), ((5, 0), 1)])
def test_blocks_hold_each_row_once(shape, blocks):
    parts = list(blocks_of(shape, 6))
    assert [n for part in parts for n in range(shape[0])[part]] == list(range(shape[0]))
    assert len(parts) == blocks
