"""Average precision, F-beta, Matthews' correlation and calibration error are scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation import Classification, MultiLabelEvaluation
from sparkdl.training.evaluation.calibration import BINS
from tests.training.evaluation.draw import classified, multilabelled

CLASSES = 4
CASES = {
    "random": lambda rng: classified(rng, 500, CLASSES),
    "ties": lambda rng: tied(*classified(rng, 500, CLASSES)),
    "a class absent": lambda rng: tied(*classified(rng, 300, CLASSES, (2,))),
    "one class alone": lambda rng: classified(rng, 40, CLASSES, (0, 1, 3)),
    "one example": lambda rng: classified(rng, 1, CLASSES),
}


def tied(scores, labels):
    """Returns scores of few distinct values that still add up to 1."""
    rough = np.round(scores * 8) + 0.5
    return rough / rough.sum(axis=1, keepdims=True), labels


@pytest.fixture(params=CASES)
def drawn(request, rng):
    return CASES[request.param](rng)


@pytest.fixture
def evaluation(drawn):
    scores, labels = drawn
    first = Classification(CLASSES).add(scores[:100], labels[:100])
    return first.merge(Classification(CLASSES).add(scores[100:], labels[100:]))


def test_average_precision(drawn, evaluation):
    scores, labels = drawn
    truth = labels[:, np.newaxis] == np.arange(CLASSES)
    known = [k for k in range(CLASSES) if truth[:, k].any()]
    each = [metrics.average_precision_score(truth[:, k], scores[:, k]) for k in known]
    found = [evaluation.average_precision(k) for k in known]
    assert found == pytest.approx(each, abs=1e-12)
    assert evaluation.average_precision() == pytest.approx(np.mean(each), abs=1e-12)
    for k in set(range(CLASSES)) - set(known):
        assert np.isnan(evaluation.average_precision(k))
    before = evaluation.average_precision()
    evaluation.drop_scores()
    assert evaluation.average_precision() == before


@pytest.mark.parametrize("beta", [0, 0.5, 1, 2])
def test_f_beta(beta, drawn, evaluation):
    scores, labels = drawn
    options = {"beta": beta, "labels": range(CLASSES), "zero_division": 0}
    truth = labels, scores.argmax(axis=1)
    each = metrics.fbeta_score(*truth, average=None, **options)
    assert [evaluation.f_beta(beta, k) for k in range(CLASSES)] == pytest.approx(each, abs=1e-12)
    macro = metrics.fbeta_score(*truth, average="macro", **options)
    assert evaluation.f_beta(beta) == pytest.approx(macro, abs=1e-12)


def test_matthews_correlation(drawn, evaluation):
    scores, labels = drawn
    expected = metrics.matthews_corrcoef(labels, scores.argmax(axis=1))
    assert evaluation.matthews_correlation == pytest.approx(expected, abs=1e-9)


def calibration(truth, scores):
    """Returns the calibration error from the bins of scikit-learn's calibration curve."""
    share, mean = calibration_curve(truth, scores, n_bins=BINS)
    edges = np.linspace(0, 1, BINS + 1)[1:-1]
    counts = np.bincount(np.searchsorted(edges, scores), minlength=BINS)
    return float(np.abs(share - mean) @ counts[counts > 0] / len(scores))


def test_calibration_error_is_of_the_predicted_classes(drawn, evaluation):
    scores, labels = drawn
    best = scores.argmax(axis=1)
    expected = calibration(best == labels, scores[np.arange(len(scores)), best])
    assert evaluation.calibration_error == pytest.approx(expected, abs=1e-9)


def test_of_several_labels_each_has_its_own(rng):
    scores, labels = multilabelled(rng, 400, 3)
    scores[:, 1] = np.round(scores[:, 1], 1)
    labels[:, 2] = 0
    found = MultiLabelEvaluation(3).add(scores, labels)
    answers = scores >= 0.5
    for k in range(3):
        truth = labels[:, k], answers[:, k]
        matthews = metrics.matthews_corrcoef(*truth)
        assert found.matthews_correlation(k) == pytest.approx(matthews, abs=1e-9)
        f2 = metrics.fbeta_score(*truth, beta=2, zero_division=0)
        assert found.f_beta(2, k) == pytest.approx(f2, abs=1e-12)
        expected = calibration(labels[:, k], scores[:, k])
        assert found.calibration_error(k) == pytest.approx(expected, abs=1e-9)
    area = [metrics.average_precision_score(labels[:, k], scores[:, k]) for k in (0, 1)]
    assert found.average_precision() == pytest.approx(np.mean(area), abs=1e-12)
    mean = np.mean([found.matthews_correlation(k) for k in range(3)])
    assert found.matthews_correlation() == pytest.approx(mean)


def test_binned_scores_are_near(rng):
    scores, labels = multilabelled(rng, 3000, 1)
    exact, near = MultiLabelEvaluation(1), MultiLabelEvaluation(1, exact_scores=0)
    exact.add(scores, labels)
    near.add(scores, labels)
    assert near.average_precision() == pytest.approx(exact.average_precision(), abs=5e-3)
    assert near.calibration_error() == pytest.approx(exact.calibration_error(), abs=5e-3)


@pytest.mark.parametrize("empty", [Classification(3), MultiLabelEvaluation(3)], ids=repr)
def test_without_examples_they_are_unknown(empty):
    values = [getattr(empty, name) for name in ("matthews_correlation", "calibration_error")]
    values = [value() if callable(value) else value for value in values]
    assert np.isnan([*values, empty.average_precision()]).all() and empty.f_beta(2) == 0


@pytest.mark.parametrize("beta", [-1, "2", None, True, float("inf"), float("nan")])
def test_another_beta_is_refused(beta):
    with pytest.raises(ConfigError, match="beta must be a finite number >= 0, got"):
        Classification(3).f_beta(beta)
