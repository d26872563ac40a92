"""Random predictions and labels for the tests of evaluations."""

import numpy as np


def classified(rng, n, classes, absent=()):
    """Returns (n, classes) probabilities and (n,) labels, none of which are in `absent`."""
    present = [c for c in range(classes) if c not in absent]
    labels = rng.choice(present, size=n)
    z = rng.normal(size=(n, classes)) * 2
    z[np.arange(n), labels] += 1.5
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), labels


def multilabelled(rng, n, size):
    """Returns (n, size) probabilities and labels of 0 and 1."""
    z = rng.normal(size=(n, size)) * 2
    return 1 / (1 + np.exp(-z)), (rng.random((n, size)) < 1 / (1 + np.exp(-z * 0.7))).astype(float)


def regressed(rng, n, size):
    """Returns (n, size) predictions and labels with large means."""
    labels = rng.normal(size=(n, size)) * [1, 5, 0.1][:size] + [1e6, -3, 0][:size]
    return labels + rng.normal(size=(n, size)) * 0.3, labels
