"""Data for charts of an evaluation: ROC curves, calibration."""

import numpy as np

from sparkdl.training.evaluation.packed_counts import widen
from sparkdl.training.evaluation.scores import center_of
from sparkdl.training.report.curves import short
from sparkdl.training.report.recorded_evaluation import RecordedEvaluation

MOST_CLASSES = 10  # most ROC curves on a page
MOST_POINTS = 200  # most points of a curve
BARS = 10  # number of bars in the calibration


def roc_curves(evaluation):
    """Returns [{"name", "x", "y"}]: true by false positive rate of the first classes."""
    if isinstance(evaluation, RecordedEvaluation):
        return evaluation.roc
    if not hasattr(evaluation, "scores"):
        return []
    areas, scores = evaluation.scores.auc(), evaluation.scores
    known = [column for column in range(len(areas)) if np.isfinite(areas[column])]
    if len(areas) == len(known) == 2 and hasattr(evaluation, "classes"):
        known = known[1:]  # the other class has the same curve
    curves = []
    for column in known[:MOST_CLASSES]:
        curve = scores.roc(column)
        x, y = thin(curve.false_positive_rate, curve.true_positive_rate)
        name = f"{evaluation.labels[column]} (area {areas[column]:.4f})"
        curves.append({"name": name, "x": short(x), "y": short(y)})
    return curves


def thin(x, y):
    """Returns at most MOST_POINTS points of a curve, evenly spaced along its length."""
    if len(x) <= MOST_POINTS:
        return x, y
    along = x + y  # both rise from 0 to 1
    places = np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS))
    return x[places], y[places]


def calibration(evaluation):
    """Returns (mean score, share of positives, count) for each bar of scores, over all classes.

    References
    ----------
    Guo et al., On calibration of modern neural networks (2017): reliability diagrams.
    """
    if isinstance(evaluation, RecordedEvaluation):
        return evaluation.calibration
    if not hasattr(evaluation, "scores"):
        return []
    score, positive, negative = score_counts(evaluation.scores)
    bars = np.minimum((score * BARS).astype(int), BARS - 1)
    rows = []
    for bar in range(BARS):
        chosen = bars == bar
        count = (positive + negative)[chosen].sum().item()
        if count:
            mean = float((score * (positive + negative))[chosen].sum() / count)
            rows.append((mean, float(positive[chosen].sum() / count), count))
    return rows


def score_counts(scores):
    """Returns the scores of all columns, with the positives and negatives of each: numbers, or sums
    of weights.
    """
    columns, bins = scores.positive.shape
    if scores.exact:
        parts = [scores.distinct.of(column) for column in range(columns)]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    centers = np.tile(center_of(np.arange(bins), bins), columns)
    counts = scores.positive, scores.negative
    return centers, *(widen(count.reshape(-1)) for count in counts)
