"""Labels that a loss does not take are refused, with their cure."""

import math

import pytest

from sparkdl.data.records.label_range import LabelRange

SIGNS = LabelRange("hinge", -1, 1, has_between=False)
SHARES, COUNTS = LabelRange("dice", 0, 1), LabelRange("poisson", 0)
IGNORING = LabelRange("sigmoid_cross_entropy", 0, 1, may_ignore=True)
CASES = {  # range, smallest and largest label, the end of the error or None
    "signs": (SIGNS, [-1, 1], None),
    "one sign": (SIGNS, [1], None),
    "signs that another network computed": (SIGNS, [-1 - 1e-7, 1 - 1e-7], None),
    "0 for no": (SIGNS, [0, 1], "hinge must be -1 or 1, got 0 to 1; 2 y - 1 makes them of 0 and 1"),
    "0 alone": (SIGNS, [0], "hinge must be -1 or 1, got 0 to 0; 2 y - 1 makes them of 0 and 1"),
    "classes from 1 on": (SIGNS, [1, 2], "must be -1 or 1, got 1 to 2; 2 y - 1 makes them of 0 "),
    "shares": (SHARES, [0.25, 1 + 1e-7], None),
    "signs of shares": (SHARES, [-1, 1], "got -1 to 1; number classes from 0 on, as StringIndex"),
    "-0": (COUNTS, [-1, -0.0], "poisson must be at least 0, got -1 to 0; other numbers have"),
    "no label": (IGNORING, [0, 2], "losses such as mse; one that stands for no label is ignore_la"),
    "masks of images": (SHARES, [0, 255], "Scale(factor=1 / 255, column=...) makes 1 of 255 in im"),
    "counts": (COUNTS, [0, 1e9], None),
    "a count below 0": (COUNTS, [-1, 7], "poisson must be at least 0, got -1 to 7; other numbers"),
    "no limits": (LabelRange("none", -math.inf), [-1e30, 1e30], None),
}


@pytest.mark.parametrize("case", CASES)
def test_labels_outside_the_range_are_told_of(case):
    limits, values, words = CASES[case]
    error = limits.error("labels", values)
    assert error is None if words is None else words in error
