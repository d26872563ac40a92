"""The regressor of pyspark.ml, with one value or several."""

import numpy as np
import pytest
from pyspark.ml.evaluation import RegressionEvaluator

from sparkdl.errors import ConfigError
from sparkdl.ml import SparkNetworkRegressionModel, SparkNetworkRegressor
from sparkdl.training.network import Network
from tests.ml.frames import arrays, by_id, classes_conf, values_conf


def test_several_values_are_a_list(estimated, data):
    found = estimated.transform(data)
    assert found.schema["prediction"].dataType.simpleString() == "array<float>"
    x = arrays()[0].astype(np.float32)
    expected = estimated.network.predict(x)
    np.testing.assert_allclose(by_id(found, "prediction")[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(estimated.predict(x[2]), expected[2], rtol=1e-5)


def test_one_value_is_a_number_that_pyspark_evaluates(data):
    model = SparkNetworkRegressionModel(Network(values_conf()))
    x, y = arrays()
    found = model.transform(data)
    expected = model.network.predict(x.astype(np.float32))[:, 0]
    rmse = RegressionEvaluator(metricName="rmse").evaluate(found)
    assert rmse == pytest.approx(np.sqrt(np.mean((expected - y) ** 2)), rel=1e-5)
    assert model.predict(x[1]) == pytest.approx(expected[1], rel=1e-5)
    assert model.evaluate(data).figures()["rmse"] == pytest.approx(rmse, rel=1e-5)


def test_a_network_of_classes_is_refused(data):
    with pytest.raises(ConfigError, match="must end in values, got .*SparkNetworkClassifier"):
        SparkNetworkRegressor(network=classes_conf()).fit(data)
