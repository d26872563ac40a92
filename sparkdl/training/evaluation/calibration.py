"""Expected calibration error: how far probabilities are from the shares of those that come true."""

import numpy as np

BINS = 15  # of equal width, as in the paper


def calibration_sums(scores, hits, counts):
    """Returns the sums of bins: scores, hits and counts, (3, BINS) float64.

    Parameters
    ----------
    scores : (n,) floats in [0, 1]
    hits : (n,) numbers
        How many of the examples with this score are as predicted, or the sum of their weights.
    counts : (n,) numbers
        How many examples have this score, or the sum of their weights.
    """
    place = np.clip(np.ceil(scores * BINS) - 1, 0, BINS - 1).astype(np.int64)
    sums = [np.bincount(place, x, BINS) for x in (scores * counts, hits, counts)]
    return np.array(sums, np.float64)


def calibration_error(sums):
    """Returns the expected calibration error of `calibration_sums`, in [0, 1]; nan without
    examples.

    References
    ----------
    Guo et al., On calibration of modern neural networks (2017), section 2: the mean over bins of
    |accuracy - confidence|, weighted by their numbers of examples.
    """
    scores, hits, counts = sums
    total = counts.sum()
    return float(np.abs(hits - scores).sum() / total) if total else float("nan")
