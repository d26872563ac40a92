"""ROC and AUC from all distinct scores match scikit-learn to the last digits."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.training.evaluation import Classification, MultiLabelEvaluation
from sparkdl.training.evaluation.distinct_scores import FIRST, LIMIT, DistinctScores, narrow
from sparkdl.training.evaluation.scores import ScoreCounts


def drawn(rng, n, ties=None):
    """Returns float32 scores and truth; on average, `ties` scores are equal."""
    truth = rng.random(n) < 0.3
    scores = 1 / (1 + np.exp(-(rng.normal(size=n) + truth)))
    if ties:
        scores = np.round(scores * n / ties) / (n / ties)
    return scores.astype(np.float32).astype(float).clip(0, 1), truth


def counted(scores, truth, limit=LIMIT, batch=997):
    counts = ScoreCounts.empty(1, 64, limit)
    for start in range(0, len(scores), batch):
        part = slice(start, start + batch)
        counts.add(scores[part, np.newaxis], truth[part, np.newaxis])
    return counts


CASES = {
    "no ties": (5000, None),
    "some ties": (5000, 3),
    "two scores": (5000, 3000),
    "more than wait": (3 * FIRST, None),
    "few": (2, None),
}


@pytest.mark.parametrize("name", CASES)
def test_curve_and_area_are_those_of_the_scores(name, rng):
    n, ties = CASES[name]
    scores, truth = drawn(rng, n, ties)
    truth[:2] = False, True
    counts = counted(scores, truth)
    assert counts.exact and counts.auc_error()[0] == 0
    assert counts.auc()[0] == pytest.approx(metrics.roc_auc_score(truth, scores), abs=1e-12)
    wanted = metrics.roc_curve(truth, scores, drop_intermediate=False)
    for found, array in zip(counts.roc(0), wanted, strict=True):
        np.testing.assert_allclose(found, array, rtol=0, atol=1e-12)


def test_what_bins_get_wrong_is_right(rng):
    """All scores lie in one bin."""
    scores = 0.5 + rng.random(2000) * 1e-3
    truth = rng.random(2000) < (scores - 0.5) * 1e3
    exact = metrics.roc_auc_score(truth, scores)
    assert counted(scores, truth, limit=0).auc()[0] == 0.5 and exact > 0.8
    assert counted(scores, truth).auc()[0] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("value", [True, False])
def test_one_kind_alone_has_no_area(value):
    counts = counted(np.array([0.2, 0.7]), np.array([value, value]))
    assert counts.exact and np.isnan(counts.auc()[0]) and np.isnan(counts.auc_error()[0])
    roc = counts.roc(0)
    assert np.isnan(roc.false_positive_rate if value else roc.true_positive_rate).all()


def test_columns_are_counted_apart(rng):
    scores, truth = np.round(rng.random((300, 3)), 2), rng.random((300, 3)) < 0.5
    evaluation = MultiLabelEvaluation(3).add(scores, truth)
    for column in range(3):
        exact = metrics.roc_auc_score(truth[:, column], scores[:, column])
        assert evaluation.auc(column) == pytest.approx(exact, abs=1e-12)


def arrays_of(counts):
    return [array.tolist() for array in counts.arrays()]


@pytest.mark.parametrize("limit", [40, 60, 10**4])
def test_merging_in_any_order_gives_the_same(limit, rng):
    scores, truth = drawn(rng, 600, ties=10)
    whole = counted(scores, truth, limit)
    assert whole.exact == (len(np.unique(scores)) <= limit)
    for _ in range(10):
        cuts = np.sort(rng.integers(0, 600, 4))
        parts = [
            counted(*part, limit)
            for part in zip(np.split(scores, cuts), np.split(truth, cuts), strict=True)
        ]
        while len(parts) > 1:
            i, j = rng.choice(len(parts), 2, replace=False)
            one, other = parts[i], pickle.loads(pickle.dumps(parts[j]))
            parts = [part for k, part in enumerate(parts) if k not in (i, j)] + [one + other]
        assert arrays_of(parts[0]) == arrays_of(whole)


def test_the_limit_is_one_of_distinct_scores_and_memory_is_given_back():
    scores, truth = np.linspace(0, 1, 101), np.arange(101) % 2 == 0
    twice = np.concatenate([scores, scores]), np.concatenate([truth, truth])
    assert counted(*twice, limit=101).exact
    above = counted(*twice, limit=100)
    assert not above.exact and sum(map(len, above.distinct.entries())) == 0
    assert above.auc()[0] == counted(*twice, limit=0).auc()[0]


def test_what_travels_is_small_and_loses_nothing(rng):
    scores, truth = drawn(rng, 20_000)
    counts = counted(scores, truth)
    sizes = [array.itemsize for array in counts.distinct.arrays()[1:]]
    assert sizes == [1, 4, 1, 1]
    again = pickle.loads(pickle.dumps(counts))
    assert again.auc()[0] == counts.auc()[0] and again.distinct.limit == LIMIT
    assert [x.dtype for x in again.distinct.entries()] == [np.int32, float, np.int64, np.int64]
    third = np.array([1 / 3, 2.0**-200])
    assert narrow(third) is third and narrow(np.array([300, -2])).dtype == np.int16


def test_many_columns_have_a_lower_limit():
    assert [MultiLabelEvaluation(n).exact_scores for n in (1, 32, 1024)] == [2**22, 2**22, 2**17]
    assert Classification(64).exact_scores == 2**21


def test_nothing_counted_is_exact():
    assert DistinctScores(0).is_exceeded and not DistinctScores(1).is_exceeded
    counts = ScoreCounts.empty(2, 8)
    assert counts.exact and np.isnan(counts.auc()).all()
    assert (counts + counts).exact
