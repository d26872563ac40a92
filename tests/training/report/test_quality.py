"""Curves of an evaluation match scikit-learn's."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import auc, roc_curve

from sparkdl.training.evaluation import Classification
from sparkdl.training.evaluation.multilabel import MultiLabelEvaluation
from sparkdl.training.report.quality import MOST_CLASSES, MOST_POINTS, calibration, roc_curves

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 2, 2000)
YES = np.clip(0.5 * TRUTH + RNG.uniform(0, 0.6, 2000), 0, 1)


def kinds(**options):
    two = Classification(2, **options).add(np.stack([1 - YES, YES], axis=1), TRUTH)
    return {"two classes": two, "a label": MultiLabelEvaluation(1).add(YES[:, None], TRUTH)}


@pytest.mark.parametrize("kind", ["two classes", "a label"])
def test_the_roc_has_the_area_of_scikit_learn_s(kind):
    [curve] = roc_curves(kinds()[kind])
    assert len(curve["x"]) <= MOST_POINTS
    x, y, _ = roc_curve(TRUTH, YES)
    assert auc(curve["x"], curve["y"]) == pytest.approx(auc(x, y), abs=1e-3)
    assert curve["name"].endswith(f"(area {auc(x, y):.4f})")


def test_of_three_classes_both_that_occur_are_drawn():
    scores = RNG.dirichlet(np.ones(3), len(TRUTH))
    curves = roc_curves(Classification(3).add(scores, TRUTH))
    areas = [auc(*roc_curve(column == TRUTH, scores[:, column])[:2]) for column in (0, 1)]
    assert [one["name"] for one in curves] == [
        f"{column} (area {area:.4f})" for column, area in enumerate(areas)
    ]


@pytest.mark.parametrize("exact", [None, 0], ids=["exact", "in bins"])
def test_the_calibration_is_scikit_learn_s(exact):
    rows = calibration(kinds(exact_scores=exact)["two classes"])
    scores, truths = np.concatenate([1 - YES, YES]), np.concatenate([1 - TRUTH, TRUTH])
    shares, means = calibration_curve(truths, scores, n_bins=10)
    np.testing.assert_allclose([row[0] for row in rows], means, atol=1e-2)
    np.testing.assert_allclose([row[1] for row in rows], shares, atol=2e-2)
    assert sum(row[2] for row in rows) == 2 * len(TRUTH)


def test_the_first_of_many_classes_are_drawn():
    scores = RNG.dirichlet(np.ones(12), 300)
    assert len(roc_curves(Classification(12).add(scores, RNG.integers(0, 12, 300)))) == MOST_CLASSES


def test_what_has_no_scores_has_no_curves():
    assert roc_curves(None) == calibration(None) == []
    alone = Classification(2).add(np.array([[0.2, 0.8]]), np.array([1]))
    assert roc_curves(alone) == [], "there is no negative"
