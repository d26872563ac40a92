"""Scaling, against Caffe's numbers."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch, Normalize, Scale
from sparkdl.errors import ConfigError, ShapeError

X = np.arange(2 * 3 * 2 * 2, dtype=np.uint8).reshape(2, 3, 2, 2) * 10
MEANS = {
    "none": ((), 0.0),
    "one": ((5.0,), 5.0),
    "bare number": (5.0, 5.0),
    "one a channel": ((1, 2, 3), np.array([1, 2, 3]).reshape(3, 1, 1)),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("mean", MEANS)
def test_scale(mean, dtype):
    given, wanted = MEANS[mean]
    batch = Batch.of(X.astype(dtype), np.arange(2))
    scaled = pickle.loads(pickle.dumps(Scale(factor=1 / 256, mean=given)))(batch)
    assert scaled.features.dtype == np.float32
    np.testing.assert_allclose(scaled.features, (X.astype(float) - wanted) / 256, rtol=1e-6)
    np.testing.assert_array_equal(scaled.labels, batch.labels)
    np.testing.assert_array_equal(batch.features, X)


def test_scale_of_rows():
    scaled = Scale(mean=(1, 2))(Batch.of(np.array([[1, 2], [3, 4]])))
    np.testing.assert_array_equal(scaled.features, [[0, 0], [2, 2]])


@pytest.mark.parametrize("transform", [Scale(mean=2), Normalize(mean=2)], ids=str)
def test_labels_that_are_single_numbers_are_scaled(transform):
    scaled = replace(transform, column="labels")(Batch.of(X, np.array([5.0, 1.0])))
    np.testing.assert_array_equal(scaled.labels, np.float32([3, -1]))


def test_means_of_other_channels_are_refused():
    with pytest.raises(ShapeError, match="needs 1 number or 3, one a channel, got 2"):
        Scale(mean=(1, 2))(Batch.of(X))


@pytest.mark.parametrize(
    "options", [{"factor": 0}, {"factor": np.nan}, {"mean": (np.inf,)}], ids=str
)
def test_scale_refuses(options):
    with pytest.raises(ConfigError, match=f"Scale.{next(iter(options))}.* must be"):
        Scale(**options)
