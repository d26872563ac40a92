"""Checks of a minibatch after its transform."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Arrays
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.errors import DataError
from sparkdl.nn import Dense, EmbeddingSequence, Flatten, NetworkConf, Output
from sparkdl.nn.inputs import columns
from sparkdl.nn.networks import base
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.network import Network

CONF = NetworkConf(input_shape=(3,), layers=[Dense(units=2, activation="relu"), Output(units=2)])


def batch(x):
    columns = {"features": x, "labels": np.zeros(len(x), np.int32)}
    return Batch(columns=columns, ids=record_ids(0, 7, len(x)))


def spoil(value):
    """Returns a transform that writes `value` to the third record."""

    def transform(given):
        x = given.columns["features"].astype(np.float32)
        x[2, 1] = value
        return replace(given, columns=given.columns | {"features": x})

    return transform


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named(value, dtype):
    x = np.ones((4, 3), dtype)
    match = "column 'features' must be finite after the transform, but is not in record 9; change"
    with pytest.raises(DataError, match=match):
        prepare_minibatch(batch(x), spoil(value), CONF)
    with pytest.raises(DataError, match="must be finite after the transform"):  # relu hides NaN
        Network(CONF).evaluate(Arrays(x, np.zeros(4, np.int32), transform=spoil(value)))


def test_numbers_whose_sum_is_not_finite_are_taken():
    x = np.full((4, 3), 3e38, np.float32)
    got = prepare_minibatch(batch(x), spoil(3e38), CONF)
    np.testing.assert_array_equal(got.columns["features"], x)


def test_the_masks_of_a_network_are_found_once(monkeypatch):
    """In each minibatch a mask of ones is dropped, and a mask with missing steps is kept."""
    asked = []
    for name in ("masks_of_features", "masks_of_labels"):
        find = getattr(columns, name)
        monkeypatch.setattr(base, name, lambda conf, find=find: asked.append(conf) or find(conf))
    layers = [EmbeddingSequence(vocabulary_size=9, units=3), Flatten(), Output(units=2)]
    conf = NetworkConf(input_shape=(3,), layers=layers)
    for mask in (np.ones((4, 3), np.float32), np.eye(4, 3, dtype=np.float32)) * 5:
        got = prepare_minibatch(batch(np.ones((4, 3), np.int64)).replace(mask=mask), None, conf)
        assert ("mask" in got.columns) == (not mask.all())
    assert len(asked) == 2
