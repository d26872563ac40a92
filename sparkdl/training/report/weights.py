"""Histograms of a network's parameters, array by array."""

import numpy as np

from sparkdl.training.report.curves import short

BINS = 40
MOST = 60  # most arrays on a page


def weights_of(run):
    """Returns the parameter_histograms of a Run, [] if its parameters are unknown."""
    if run.state is None or run.conf is None:
        return run.histograms
    return parameter_histograms(run.conf, run.state)


def parameter_histograms(conf, state):
    """Returns [{"name", "shape", "mean", "std", "edges", "counts", "bad"}] of the first arrays.

    `bad` counts numbers that are not finite, which are in no bin.
    """
    views = conf.params_layout.views(state.params)
    return [histogram(name, np.asarray(array)) for name, array in list(views.items())[:MOST]]


def histogram(name, array):
    finite = array[np.isfinite(array)].astype(np.float64)
    counts, edges = np.histogram(finite, BINS) if finite.size else (np.zeros(0, int), np.zeros(0))
    mean, std = (finite.mean(), finite.std()) if finite.size else (np.nan, np.nan)
    return {
        "name": name,
        "shape": list(array.shape),
        "mean": short([mean])[0],
        "std": short([std])[0],
        "edges": short(edges),
        "counts": counts.tolist(),
        "bad": int(array.size - finite.size),
    }
