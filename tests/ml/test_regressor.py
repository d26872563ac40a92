"""The regressor of pyspark.ml, with one value or several."""

import numpy as np
import pytest
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as F

from sparkdl.errors import ConfigError
from sparkdl.ml import SparkNetworkRegressionModel, SparkNetworkRegressor
from sparkdl.training.network import Network
from tests.ml.conftest import SMALL
from tests.ml.frames import arrays, by_id, classes_conf, two_inputs, values_conf


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


def test_several_inputs_have_columns_of_their_own_names(data):
    x = vector_to_array("features")
    own = data.withColumns({"left": F.slice(x, 1, 2), "right": F.slice(x, 2, 3)}).drop("features")
    model = SparkNetworkRegressor(network=two_inputs(1, loss="mse"), **SMALL).fit(own)
    inputs = {"left": arrays()[0][:, :2], "right": arrays()[0][:, 1:]}
    expected = model.network.predict(inputs)[:, 0]
    [found] = by_id(model.transform(own), "prediction")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    record = {name: value[1] for name, value in inputs.items()}
    assert model.predict(record) == pytest.approx(expected[1], rel=1e-5)
    one, *_ = by_id(own.select("id", model.udf()("left", "right").alias("y")), "y")
    np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ConfigError, match="featuresCol must name a column for each of"):
        SparkNetworkRegressor(network=two_inputs(1, loss="mse"), featuresCol="left").fit(own)
