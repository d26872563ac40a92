"""Numbers from which an evaluation picks the same classes as the thresholds."""

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, roc_auc_score

from sparkdl.spark.inference.output_columns import CLASSES, YES_OR_NO
from sparkdl.spark.inference.threshold_evaluator import ThresholdCounts, ThresholdEvaluator
from sparkdl.training.evaluation import Classification
from sparkdl.training.evaluation.batch_evaluation import new_evaluation
from sparkdl.training.evaluation.metrics import metrics_of
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


@pytest.fixture
def sorts(monkeypatch):
    """Collects (dtype kind, size) of each array that numpy argsorts."""
    noted, sort = [], np.argsort

    def note(x, *arguments, **options):
        noted.append((x.dtype.kind, x.size))
        return sort(x, *arguments, **options)

    monkeypatch.setattr(np, "argsort", note)
    return noted


def test_only_probabilities_are_sorted_for_their_roc(sorts):
    rng, limits = np.random.default_rng(0), (0.2, 0.9, 0.4)
    y = rng.dirichlet(np.ones(3), 30_000).astype(np.float32)
    labels, losses = rng.integers(0, 3, len(y)), np.zeros(len(y))
    plain_one = new_evaluation(plain()).add(y, labels, losses)
    alone = sum(size for kind, size in sorts if kind == "f")
    sorts.clear()
    evaluator = ThresholdEvaluator(plain(), None, CLASSES, limits)
    counts = ThresholdCounts(evaluator)
    counts.add(y, labels, losses)
    found = counts.evaluation()
    assert alone >= y.size
    assert sum(size for kind, size in sorts if kind == "f") == y.size + alone
    assert found.accuracy == pytest.approx(accuracy_score(labels, (y / limits).argmax(axis=1)))
    assert found.auc() == plain_one.auc()
    shares = y / y.sum(axis=1, keepdims=True, dtype=np.float64)
    share = roc_auc_score(labels, shares, multi_class="ovr")
    assert found.auc() == pytest.approx(share, rel=1e-6)


def test_the_choice_sorts_once(sorts):
    evaluator = ThresholdEvaluator(plain(), None, CLASSES, (1.0, 4.0, 0.5))
    evaluator.decide(Y)
    assert sorts == [("f", Y.size)]


def test_places_are_the_ranks_of_the_shares():
    y = np.random.default_rng(1).integers(0, 4, (50, 3)).astype(np.float32)
    evaluator = ThresholdEvaluator(plain(), None, CLASSES, (1.0, 1.0, 1.0))
    expected = rankdata(y[:, ::-1], axis=1, method="ordinal")[:, ::-1] / 3
    np.testing.assert_allclose(evaluator.decide(y), expected)


def test_it_keeps_its_options_with_metrics():
    evaluator = ThresholdEvaluator(plain(), None, CLASSES, (1.0, 2.0, 3.0))
    counts = metrics_of([Classification], plain()).counts
    made = evaluator.with_metrics(counts)
    assert (made.kind, made.thresholds) == (CLASSES, (1.0, 2.0, 3.0))
    assert made.metrics is counts and evaluator.metrics is not counts
