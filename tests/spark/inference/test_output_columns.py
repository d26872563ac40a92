"""Output arrays as the columns that pyspark.ml defines."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from sparkdl.spark.inference.output_columns import CLASSES, VALUES, YES_OR_NO, OutputColumns

Y = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], np.float32)
Z = np.log(Y)
YES = np.array([[0.25], [0.75], [0.5]], np.float32)


def arrays(kind, results, *names, **options):
    return OutputColumns("out", kind, *names, **options).arrays(results)


def test_classes_have_a_prediction_probabilities_and_what_these_are_made_of():
    found = arrays(CLASSES, {"out": Y, "out/z": Z}, "class", "p", "raw")
    assert found["class"].tolist() == [1.0, 0.0]
    assert found["p"].dtype == found["raw"].dtype == np.float64
    np.testing.assert_array_equal(found["p"], Y)
    np.testing.assert_array_equal(found["raw"], Z)


def test_a_yes_or_no_has_two_classes():
    z = np.log(YES / (1 - YES))
    found = arrays(YES_OR_NO, {"out": YES, "out/z": z}, "class", "p", "raw")
    assert found["class"].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(found["p"], [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_array_equal(found["raw"][:, 0], -found["raw"][:, 1])


def test_the_second_score_of_two_classes_ranks_as_its_probability_does():
    """BinaryClassificationEvaluator and OneVsRest of pyspark.ml use that score alone."""
    rng = np.random.default_rng(3)
    z = 5 * rng.normal(size=(200, 2)).astype(np.float32)
    raw = arrays(CLASSES, {"out": softmax(z, axis=1), "out/z": z}, "", "p", "raw")["raw"]
    y, p = rng.integers(0, 2, 200), softmax(z.astype(np.float64), axis=1)
    assert roc_auc_score(y, raw[:, 1]) == roc_auc_score(y, p[:, 1]) != roc_auc_score(y, z[:, 1])
    np.testing.assert_allclose(softmax(raw, axis=1), p, rtol=1e-12)
    np.testing.assert_array_equal(raw[:, 0], -raw[:, 1])


def test_the_score_of_one_class_is_z():
    raw = arrays(CLASSES, {"out": np.ones((3, 1)), "out/z": YES}, "", "p", "raw")["raw"]
    np.testing.assert_array_equal(raw, YES)


THRESHOLDS = {
    "equal": ((1.0, 1.0, 1.0), [1, 0]),
    "one is low": ((1.0, 1.0, 0.1), [2, 2]),
    "one is none": ((1.0, 0.0, 0.1), [1, 1]),
}


@pytest.mark.parametrize("case", THRESHOLDS)
def test_the_class_is_that_of_the_largest_share_of_its_threshold(case):
    thresholds, expected = THRESHOLDS[case]
    found = arrays(CLASSES, {"out": Y}, "class", thresholds=thresholds)
    assert found["class"].tolist() == expected


def test_columns_without_a_name_are_not_made():
    output = OutputColumns("out", CLASSES, "", "p")
    assert output.layers == ["out"]
    assert [*output.arrays({"out": Y})] == ["p"]
    assert OutputColumns("out", CLASSES, "class", "", "raw").layers == ["out", "out/z"]


def test_values_are_numbers_or_lists_of_them():
    one = arrays(VALUES, {"out": YES}, "value")["value"]
    assert (one.shape, one.dtype) == ((3,), np.float64)
    assert arrays(VALUES, {"out": Y}, "value")["value"] is Y


def test_each_step_of_a_sequence_has_a_class():
    steps = np.stack([Y, Y[::-1]])
    found = arrays(CLASSES, {"out": steps}, "class", "p")
    assert found["class"].tolist() == [[1, 0], [0, 1]]
    assert found["p"] is steps
