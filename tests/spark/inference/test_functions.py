"""Networks as functions of arrays, for predict_batch_udf and for users."""

import numpy as np
import pytest

from sparkdl.errors import DataError
from sparkdl.layers import LSTM, LastTimeStep, Output
from sparkdl.ml import SparkNetworkClassificationModel
from sparkdl.nn import NetworkConf
from sparkdl.training.network import Network

OUTPUTS = {"a class": [LastTimeStep(), Output(units=3)], "a class for each step": [Output(units=3)]}
X = np.random.default_rng(0).normal(size=(4, 5, 2)).astype(np.float32)


@pytest.fixture(params=OUTPUTS)
def model(request, spark):
    layers = [LSTM(units=4), *OUTPUTS[request.param]]
    conf = NetworkConf(input_shape=(5, 2), layers=layers, seed=1)
    return SparkNetworkClassificationModel(Network(conf))


def test_lists_are_taken_as_arrays(model):
    predict, expected = model.make_predict_fn()(), model.network.predict(X)
    np.testing.assert_allclose(predict(X.tolist()), expected, rtol=1e-5)
    np.testing.assert_allclose(predict(X), expected, rtol=1e-5)


@pytest.mark.parametrize("empty", [X[:0], [], np.empty(0)], ids=["array", "list", "flat"])
def test_no_rows_give_no_rows_of_the_output_s_shape(model, empty):
    found, expected = model.make_predict_fn()()(empty), model.network.predict(X)[:0]
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_lists_are_checked_as_arrays(model):
    wrong = X.tolist()
    wrong[1][0][1] = float("nan")
    with pytest.raises(DataError, match="record 1: features must be finite, got nan at 1"):
        model.make_predict_fn()()(wrong)
