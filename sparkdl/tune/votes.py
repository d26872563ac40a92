"""Combination of several networks' outputs by voting."""

import numpy as np

from sparkdl.errors import ConfigError, brief

VOTINGS = "soft", "hard", "weighted"


def combine(outputs, voting, weights=None):
    """Returns the mean of outputs (n, k), or the share of votes for each class.

    Parameters
    ----------
    outputs : sequence of arrays (n, k)
        Of each network.
    voting : str
        "hard": a network votes for its likeliest class; ties go to the first.
    weights : sequence of float or None
        Of the networks; None: equal weights.

    References
    ----------
    scikit-learn's VotingClassifier and VotingRegressor do the same.
    """
    if voting == "hard":
        outputs = [one_hot(y) for y in outputs]
    return np.average(np.asarray(outputs, np.float64), axis=0, weights=weights)


def one_hot(y):
    """Returns 1 at the largest number of each row, else 0."""
    return np.eye(y.shape[-1])[y.argmax(axis=-1)]


def weights_of(figures, larger_is_better):
    """Returns the weights of networks with these figures: better ones weigh more.

    Raises ConfigError for figures below 0, as R2 can be, and for losses of 0.
    """
    figures = np.asarray(figures, np.float64)
    if (figures < 0).any() or not (figures.all() or larger_is_better) or not figures.any():
        kind = "at least 0" if larger_is_better else "above 0"
        raise ConfigError(
            f"voting must be 'soft' or 'hard' where figures are not {kind}, got 'weighted' and "
            f"{brief(figures.tolist())}; or give weights"
        )
    return [float(weight) for weight in (figures if larger_is_better else 1 / figures)]
