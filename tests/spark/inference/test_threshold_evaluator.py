"""Numbers by which an evaluation chooses the classes that thresholds choose."""

import numpy as np
import pytest

from sparkdl.spark.inference.output_columns import CLASSES, YES_OR_NO
from sparkdl.spark.inference.threshold_evaluator import ThresholdEvaluator
from tests.spark.networks import plain

Y = np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], np.float32)
YES = np.array([[0.25], [0.75]], np.float32)
CASES = {
    "places": (CLASSES, Y, (1.0, 4.0, 0.5), [[2 / 3, 1 / 3, 1], [1, 1 / 3, 2 / 3]]),
    "one may be 0": (CLASSES, Y, (1.0, 1.0, 0.0), [[1 / 3, 2 / 3, 1], [2 / 3, 1 / 3, 1]]),
    "yes is hard": (YES_OR_NO, YES, (0.1, 0.9), [[0], [0]]),
    "yes is easy": (YES_OR_NO, YES, (0.9, 0.1), [[1], [1]]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_of_the_largest_shares_of_thresholds_is_chosen(case):
    kind, y, thresholds, expected = CASES[case]
    evaluator = ThresholdEvaluator(plain(), None, kind, thresholds)
    np.testing.assert_allclose(evaluator.decide(y), expected)
