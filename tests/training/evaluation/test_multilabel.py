"""MultiLabelEvaluation matches scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.errors import ConfigError, DataError
from sparkdl.training.evaluation import MultiLabelEvaluation
from sparkdl.training.evaluation.multilabel import CURVE_CELLS
from sparkdl.training.evaluation.scores import bins_for
from tests.training.evaluation.draw import multilabelled


@pytest.fixture(params=[1, 4], name="case")
def _case(request, rng):
    predictions, labels = multilabelled(rng, 300, request.param)
    return MultiLabelEvaluation(request.param).add(predictions, labels), predictions, labels


@pytest.mark.parametrize("figure", ["precision", "recall", "f1"])
def test_rates(case, figure):
    evaluation, predictions, labels = case
    score = getattr(metrics, f"{figure}_score")
    columns = range(evaluation.size)
    expected = [score(labels[:, c], predictions[:, c] >= 0.5, zero_division=0) for c in columns]
    np.testing.assert_allclose(getattr(evaluation.by_label, figure), expected)
    assert getattr(evaluation, figure) == pytest.approx(np.mean(expected))


def test_accuracy_and_exact_match(case):
    evaluation, predictions, labels = case
    answers = (predictions >= 0.5).astype(float)
    wrong = np.mean(answers != labels)
    assert evaluation.accuracy == pytest.approx(1 - wrong)
    assert evaluation.exact_match == pytest.approx(metrics.accuracy_score(labels, answers))


def test_auc_and_loss(case):
    evaluation, predictions, labels = case
    exact = metrics.roc_auc_score(labels, predictions, average="macro")
    assert evaluation.auc() == pytest.approx(exact, abs=1e-12)
    loss = sum(metrics.log_loss(labels[:, c], predictions[:, c]) for c in range(evaluation.size))
    assert evaluation.loss == pytest.approx(loss)


@pytest.mark.parametrize("size, bins", [(1, 4096), (1024, 4096), (10_000, 419), (5_000_000, 1)])
def test_bins_of_many_labels_have_64_megabytes_at_most(size, bins):
    found = bins_for(size, CURVE_CELLS)
    assert found == bins and (16 * size * found <= 64 * 2**20 or found == 1)


def test_of_many_labels_there_are_fewer_bins(rng):
    predictions, labels = multilabelled(rng, 30, 5_000)
    evaluation = MultiLabelEvaluation(5_000, exact_scores=0).add(predictions, labels)
    assert evaluation.bins == 838
    column = 17
    exact = metrics.roc_auc_score(labels[:, column], predictions[:, column])
    one = MultiLabelEvaluation(1, exact_scores=0, bins=838)
    one.add(predictions[:, column : column + 1], labels[:, column : column + 1])
    assert one.auc() == pytest.approx(exact, abs=0.02)


def test_the_threshold_counts(rng):
    predictions, labels = multilabelled(rng, 100, 1)
    evaluation = MultiLabelEvaluation(1, threshold=0.9).add(predictions, labels)
    assert evaluation.recall == pytest.approx(metrics.recall_score(labels, predictions >= 0.9))


def test_one_label_may_come_as_a_plain_column():
    evaluation = MultiLabelEvaluation(1).add(np.array([[0.9], [0.2]]), np.array([1, 1]))
    assert evaluation.accuracy == 0.5


def test_probabilities_as_labels_are_a_yes_from_a_half_on():
    predictions, shares = np.array([[0.9], [0.2], [0.6]]), np.array([1, 0.3, 0.5])
    evaluation = MultiLabelEvaluation(1).add(predictions, shares)
    p = predictions[:, 0]
    assert evaluation.accuracy == 1
    assert evaluation.loss == pytest.approx(
        -np.mean(shares * np.log(p) + (1 - shares) * np.log(1 - p))
    )


@pytest.mark.parametrize("label", [-0.1, 1.5])
def test_other_numbers_are_refused_with_the_cure(label):
    match = rf"in \[0, 1\], got {label} in example 1 at 0; for other numbers use Regression"
    with pytest.raises(DataError, match=match):
        MultiLabelEvaluation(1).add(np.array([[0.9], [0.2]]), np.array([1, label]))


OPTIONS = {
    "threshold": ({"size": 2, "threshold": 1}, r"threshold must be in \(0, 1\), got 1"),
    "threshold of text": ({"size": 2, "threshold": "a"}, r"threshold must be in \(0, 1\), got 'a'"),
    "size": ({"size": 0}, "size must be an integer >= 1, got 0"),
    "size of text": ({"size": "a"}, "size must be an integer >= 1, got 'a'"),
    "size that is no integer": ({"size": 2.0}, r"size must be an integer >= 1, got 2\.0"),
    "bins": ({"size": 2, "bins": 2.5}, r"bins must be an integer >= 1, got 2\.5"),
    "exact scores": ({"size": 2, "exact_scores": "a"}, "exact_scores must be an integer >= 0"),
    "names that are a number": ({"size": 2, "labels": 5}, "labels must be 2 names, got 5"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_cannot_work_are_refused(name):
    options, message = OPTIONS[name]
    with pytest.raises(ConfigError, match=f"MultiLabelEvaluation.{message}"):
        MultiLabelEvaluation(**options)


def test_the_report_has_a_row_per_label(rng):
    text = str(MultiLabelEvaluation(2, ["wet", "dry"]).add(*multilabelled(rng, 20, 2)))
    assert "exact_match" in text and "\nwet" in text and "\ndry" in text
    assert str(MultiLabelEvaluation(2)) == "no examples"
