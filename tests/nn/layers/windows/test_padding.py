"""Accepted values of `padding`, and errors for others."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.layers.windows.padding import Amounts, Padding

IMAGES = "an integer >= 0, a pair of them, ((top, bottom), (left, right)), or 'same'"

TAKEN = [
    (Amounts(axes=1), 2, 2),
    (Amounts(axes=1), [0, np.int8(2)], (0, 2)),
    (Amounts(axes=2), [1, 2], (1, 2)),
    (Amounts(axes=2), [[1, 2], (3, 4)], ((1, 2), (3, 4))),
    (Amounts(axes=3), (1, 2, 3), (1, 2, 3)),
    (Amounts(axes=3), ((1, 2),) * 3, ((1, 2),) * 3),
    (Padding(axes=2), "same", "same"),
    (Padding(axes=2), np.str_("same"), "same"),
    (Padding(axes=1, causal=True), "causal", "causal"),
    (Padding(axes=1, causal=True), (1, 2), (1, 2)),
]


@pytest.mark.parametrize("constraint, given, kept", TAKEN, ids=str)
def test_takes(constraint, given, kept):
    found = constraint.check(given, "A.b")
    assert found == kept and type(found) is type(kept)


REFUSED = [
    (Amounts(axes=1), (1, 2, 3), "A.b must be an integer >= 0 or (before, after), got (1, 2, 3)"),
    (Amounts(axes=1), ((1, 2),), "A.b must be an integer >= 0 or (before, after), got ((1, 2),)"),
    (Amounts(axes=2), -1, "an integer >= 0, a pair of them or ((top, bottom), (left, right)), got"),
    (Amounts(axes=2), ((1, 2), 3), "((top, bottom), (left, right)), got ((1, 2), 3)"),
    (Amounts(axes=3), (1, 2), "three of them or three (before, after), got (1, 2)"),
    (Amounts(axes=2), "same", "A.b must be an integer >= 0, a pair of them or ((top"),
    (Padding(axes=2), "valid", f"A.b must be {IMAGES}, got 'valid'"),
    (Padding(axes=2), 10**30, f"A.b must be {IMAGES}, got 1{'0' * 30}; the largest possible is "),
    (Padding(axes=2), (0, 10**12), f"A.b must be {IMAGES}, got (0, 1000000000000)"),
    (Padding(axes=2, causal=True), "causal", f"A.b must be {IMAGES}, got 'causal'"),
    (Padding(axes=1), "causal", "A.b must be an integer >= 0, (before, after), or 'same', got"),
    (Padding(axes=1, causal=True), 1.5, "(before, after), or 'same' or 'causal', got 1.5"),
]


@pytest.mark.parametrize("constraint, given, message", REFUSED, ids=str)
def test_refuses(constraint, given, message):
    with pytest.raises(ConfigError) as caught:
        constraint.check(given, "A.b")
    assert message in str(caught.value)
