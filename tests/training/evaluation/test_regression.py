"""Regression matches scikit-learn and scipy, in float64."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from sparkdl.errors import ConfigError, DataError
from sparkdl.training.evaluation import Regression
from tests.training.evaluation.draw import regressed

FIGURES = {
    "mse": metrics.mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "rmse": metrics.root_mean_squared_error,
    "r2": metrics.r2_score,
}


def in_pieces(predictions, labels, cuts=(1, 2, 90)):
    evaluation = Regression(labels.shape[1])
    for p, t in zip(np.split(predictions, cuts), np.split(labels, cuts), strict=True):
        evaluation.add(p, t)
    return evaluation


@pytest.mark.parametrize("figure", FIGURES)
def test_errors(figure, rng):
    predictions, labels = regressed(rng, 200, 3)
    evaluation = in_pieces(predictions, labels)
    expected = FIGURES[figure](labels, predictions, multioutput="raw_values")
    np.testing.assert_allclose(evaluation.by_column[figure], expected, rtol=1e-9)
    assert getattr(evaluation, figure) == pytest.approx(np.mean(expected), rel=1e-9)


def test_correlation(rng):
    predictions, labels = regressed(rng, 200, 3)
    expected = [stats.pearsonr(predictions[:, c], labels[:, c]).statistic for c in range(3)]
    found = in_pieces(predictions, labels).by_column["correlation"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_small_variation_about_a_large_mean_keeps_its_digits(rng):
    """Sums of squares of numbers near 1e9 would lose all digits of a variation of 1e-2."""
    labels = 1e9 + 1e-2 * rng.normal(size=(500, 1))
    predictions = labels + 1e-2 * rng.normal(size=(500, 1))
    found = in_pieces(predictions, labels)
    assert found.r2 == pytest.approx(metrics.r2_score(labels, predictions), abs=1e-6)
    exact = stats.pearsonr(predictions[:, 0] - 1e9, labels[:, 0] - 1e9).statistic
    assert found.correlation == pytest.approx(exact, abs=1e-6)


CONSTANT = {"right": ([[2.0], [2.0]], 1.0), "wrong": ([[2.0], [3.0]], 0.0)}


@pytest.mark.parametrize("name", CONSTANT)
def test_labels_that_do_not_vary(name):
    predictions, r2 = CONSTANT[name]
    labels = np.array([[2.0], [2.0]])
    evaluation = Regression(1).add(np.array(predictions), labels)
    assert evaluation.r2 == r2 == metrics.r2_score(labels, predictions)
    assert np.isnan(evaluation.correlation)


SIDES = {
    "labels": (np.full(60, 0.1), np.linspace(0, 1, 60)),
    "predictions": (np.linspace(0, 1, 60), np.full(60, 0.7)),
    "both": (np.full(60, 0.1), np.full(60, 0.7)),
    "both, of float32": (np.full(60, 3.3, np.float32), np.full(60, 0.7, np.float32)),
}


@pytest.mark.parametrize("cuts", [(), (20, 30)])
@pytest.mark.parametrize("name", SIDES)
def test_sums_of_what_does_not_vary_leave_nothing_to_correlate(name, cuts):
    """The naive mean of sixty times 0.1 differs from 0.1."""
    labels, predictions = (side[:, np.newaxis] for side in SIDES[name])
    evaluation = in_pieces(predictions, labels, cuts)
    halves = in_pieces(predictions[:7], labels[:7], ()).merge(
        in_pieces(predictions[7:], labels[7:], ())
    )
    expected = metrics.r2_score(labels - labels[0], predictions - labels[0])  # on zeros: exact
    for found in (evaluation, halves):
        assert found.r2 == pytest.approx(expected)
        assert np.isnan(found.correlation)


def test_fewer_than_two_examples_have_no_r2():
    assert np.isnan(Regression(1).add(np.array([[1.0]]), np.array([[2.0]])).r2)
    empty = Regression(2)
    assert np.isnan([empty.mse, empty.mae, empty.r2, empty.correlation, empty.loss]).all()
    assert str(empty) == "no examples"


def test_loss_is_the_mse_unless_given(rng):
    predictions, labels = regressed(rng, 10, 2)
    assert Regression(2).add(predictions, labels).loss == pytest.approx(
        metrics.mean_squared_error(labels, predictions)
    )
    assert Regression(2).add(predictions, labels, losses=np.full(10, 7)).loss == 7


BAD = {
    "shape": (np.zeros((2, 2)), r"predictions \(2, 2\) need labels \(2, 2\), got \(2, 1\)"),
    "nan": (np.array([[0, np.nan]] * 2), "predictions must be finite, got nan in example 0 at 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name):
    predictions, message = BAD[name]
    with pytest.raises(DataError, match=message):
        Regression(2).add(predictions, np.zeros((2, 1)))


NO_NUMBERS = {
    "predictions": ([["a"]], [1.0], None),
    "labels": ([[1.0]], ["x"], None),
    "labels of several lengths": ([[1.0]], [[1], [1, 2]], None),
    "losses": ([[1.0]], [1.0], ["x"]),
    "predictions of complex numbers": ([[1j]], [1.0], None),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_refused(name):
    evaluation = Regression(1)
    message = f"{name.split()[0]} must be an array of real numbers, got \\["
    with pytest.raises(DataError, match=message):
        evaluation.add(*NO_NUMBERS[name])
    assert evaluation.examples == 0


def test_nan_labels_are_refused():
    with pytest.raises(DataError, match="labels must be finite, got nan in example 1 at 0"):
        Regression(1).add(np.zeros((2, 1)), np.array([0, np.nan]))


@pytest.mark.parametrize("size", [0, "3", None, 2.0])
def test_a_size_that_is_no_integer_is_refused(size):
    with pytest.raises(ConfigError, match="Regression.size must be an integer >= 1, got"):
        Regression(size)


def test_the_report_has_a_row_per_column(rng):
    text = str(Regression(2, ["x", "y"]).add(*regressed(rng, 20, 2)))
    head = "column mse mae rmse r2 correlation"
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert head in lines and lines[-2].startswith("x ") and lines[-1].startswith("y ")
