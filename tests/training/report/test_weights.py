"""Histograms of parameters."""

import numpy as np

from sparkdl.training.report.weights import BINS, histogram, parameter_histograms
from tests.training.report.fits import network


def test_each_array_has_its_histogram():
    found = {one["name"]: one for one in parameter_histograms(network().conf, network().state)}
    assert set(found) == {"dense_1/W", "dense_1/b", "output_1/W", "output_1/b"}
    weights = found["dense_1/W"]
    assert sum(weights["counts"]) == 20 and len(weights["edges"]) == BINS + 1


def test_numbers_that_are_not_finite_are_counted_apart():
    one = histogram("W", np.array([1.0, np.nan, np.inf, 3.0]))
    assert (one["bad"], one["mean"], one["std"], sum(one["counts"])) == (2, 2.0, 1.0, 2)
    nothing = histogram("W", np.array([np.nan]))
    assert (nothing["counts"], nothing["mean"], nothing["bad"]) == ([], None, 1)
