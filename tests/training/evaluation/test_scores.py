"""ROC and AUC from binned scores, compared with scikit-learn on the scores themselves."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.training.evaluation.scores import ScoreCounts, bin_of, center_of, edge_of

BINS = 4096


def counted(scores, truth, bins=BINS, limit=0):
    """Returns counts in bins alone, unless `limit` allows exact ones."""
    counts = ScoreCounts.empty(1, bins, limit)
    counts.add(scores[:, np.newaxis], truth[:, np.newaxis])
    return counts


def drawn(rng, n=5000, shift=1.0, center=0.0):
    """Returns scores with normal log-odds, larger by `shift` for positives, and truth."""
    truth = rng.random(n) < 0.3
    return 1 / (1 + np.exp(-(rng.normal(size=n) + shift * truth + center))), truth


@pytest.mark.parametrize("bins", [1, 7, 64, 4096])
def test_a_center_is_in_its_bin_and_an_edge_the_smallest_score(bins):
    index = np.arange(bins)
    np.testing.assert_array_equal(bin_of(center_of(index, bins), bins), index)
    assert (edge_of(index, bins) < center_of(index, bins)).all()
    assert (edge_of(index[1:], bins) > center_of(index[:-1], bins)).all()


def test_zero_and_one_have_bins():
    assert bin_of(np.array([0.0, 1e-300, 1.0]), BINS).tolist() == [0, 0, BINS - 1]


def test_scores_on_bin_centers_give_the_exact_curve(rng):
    index = rng.integers(0, 64, size=700)
    truth = rng.random(700) < index / 64
    scores = center_of(index, 64)
    counts = counted(scores, truth, bins=64)
    fpr, tpr, _ = metrics.roc_curve(truth, scores, drop_intermediate=False)
    roc = counts.roc(0)
    np.testing.assert_allclose(roc.false_positive_rate, fpr, rtol=0, atol=1e-15)
    np.testing.assert_allclose(roc.true_positive_rate, tpr, rtol=0, atol=1e-15)
    assert counts.auc()[0] == pytest.approx(metrics.roc_auc_score(truth, scores), rel=1e-12)


def test_thresholds_give_the_rates_they_stand_at(rng):
    scores, truth = drawn(rng)
    roc = counted(scores, truth, bins=32).roc(0)
    assert roc.thresholds[0] == np.inf
    for fpr, tpr, threshold in zip(*roc, strict=True):
        assert tpr == pytest.approx(np.mean(scores[truth] >= threshold))
        assert fpr == pytest.approx(np.mean(scores[~truth] >= threshold))


# The location matters: bins of equal width in probability would fail on "rare" and "sure".
CONTINUOUS = {
    "about a half": {},
    "rare, scores about 1e-4": {"center": -9},
    "sure, scores about 0.9999": {"center": 9},
    "no better than chance": {"shift": 0},
    "well separated": {"shift": 4},
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_scores_are_within_the_stated_error(name, rng):
    scores, truth = drawn(rng, **CONTINUOUS[name])
    counts = counted(scores, truth)
    difference = abs(counts.auc()[0] - metrics.roc_auc_score(truth, scores))
    assert difference <= counts.auc_error()[0] + 1e-12
    assert difference < 1e-4
    assert counts.auc_error()[0] < 3e-3


def test_uniform_scores_are_within_a_thousandth(rng):
    scores = rng.random(20000)
    truth = rng.random(20000) < scores
    assert counted(scores, truth).auc()[0] == pytest.approx(
        metrics.roc_auc_score(truth, scores), abs=1e-4
    )


def test_the_error_bound_can_be_reached():
    """All scores lie in one bin in the right order: the exact AUC is 1, the binned one 1/2."""
    counts = counted(np.array([0.5001, 0.5002]), np.array([False, True]), bins=16)
    assert counts.auc()[0] == 0.5 and counts.auc_error()[0] == 0.5


def test_billions_in_one_bin_are_counted():
    counts = np.array([[4 * 10**9, 10]])
    many = ScoreCounts(counts, counts, ScoreCounts.empty(1, 2, limit=0).distinct)
    many.distinct.add(np.array([[0.1], [0.2]]), np.array([[True], [False]]))
    assert many.auc_error()[0] == pytest.approx(0.5, abs=1e-6)  # their product exceeds 2^63


@pytest.mark.parametrize("value", [True, False])
def test_one_kind_alone_has_no_area(value):
    counts = counted(np.array([0.2, 0.7]), np.array([value, value]))
    assert np.isnan(counts.auc()[0]) and np.isnan(counts.auc_error()[0])
    roc = counts.roc(0)
    assert np.isnan(roc.false_positive_rate if value else roc.true_positive_rate).all()


def test_columns_are_counted_apart(rng):
    scores, truth = rng.random((300, 3)), rng.random((300, 3)) < 0.5
    counts = ScoreCounts.empty(3, BINS, 0)
    counts.add(scores, truth)
    alone = [counted(scores[:, c], truth[:, c]).auc()[0] for c in range(3)]
    np.testing.assert_array_equal(counts.auc(), alone)


@pytest.mark.parametrize("limit", [0, 10**6], ids=["bins", "exact"])
def test_without_scores_areas_stay_and_curves_are_of_bins(rng, limit):
    scores, truth = rng.random((3000, 2)), rng.random((3000, 2)) < 0.3
    whole, binned = (ScoreCounts.empty(2, 64, size) for size in (limit, 0))
    for one in (whole, binned):
        one.add(scores, truth)
    small = whole.without_scores()
    for counts in (small, pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(counts.auc(), whole.auc())
        np.testing.assert_array_equal(counts.auc_error(), whole.auc_error())
        for found, expected in zip(counts.roc(1), binned.roc(1), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert not small.nbytes and whole.nbytes > 50 * small.positive.nbytes * bool(limit)


def test_counts_without_scores_grow_beyond_small_types(rng):
    """A bin of 100 positives and 100 negatives fits int8, but not together, nor twice."""
    scores, truth = np.full((200, 1), 0.5), np.arange(200)[:, np.newaxis] % 2 == 0
    small, whole = ScoreCounts.empty(1, 4), ScoreCounts.empty(1, 4, 0)
    for one in (small, whole):
        one.add(scores, truth)
    small = small.without_scores()
    assert small.positive.dtype == np.int8
    for one in (small, small + small, (small + small).without_scores()):
        np.testing.assert_array_equal(one.roc(0).true_positive_rate, [0, 1])
    assert (small + small).positive.sum() == 200
    small.add(scores, truth)
    assert small.positive.sum() == small.negative.sum() == 200
    np.testing.assert_array_equal(small.auc(), (whole + whole).auc())
