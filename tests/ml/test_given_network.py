"""Networks with weights in a grid: pyspark.ml's tuning saves and loads them."""

from dataclasses import replace

import numpy as np
import pytest
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.tuning import (
    CrossValidator,
    CrossValidatorModel,
    ParamGridBuilder,
    TrainValidationSplit,
    TrainValidationSplitModel,
)

from sparkdl.errors import UnsupportedError
from sparkdl.ml import SparkNetworkClassifier
from sparkdl.training.network import Network
from tests.ml.conftest import SMALL
from tests.ml.frames import classes_conf
from tests.training.models import assert_equal

MODELS = {CrossValidator: CrossValidatorModel, TrainValidationSplit: TrainValidationSplitModel}


@pytest.fixture
def networks():
    """Two networks whose weights are not those of a new one."""
    found = [Network(classes_conf()), Network(classes_conf(units=5))]
    for number, network in enumerate(found):
        state = network.state
        network.state = replace(state, params=state.params + 1 + number)
    return found


@pytest.fixture(params=MODELS, ids=lambda kind: kind.__name__)
def tuning(request, networks):
    one = SparkNetworkClassifier(**SMALL)
    grid = ParamGridBuilder().addGrid(one.maxIter, [1, 2]).addGrid(one.network, networks).build()
    evaluator = MulticlassClassificationEvaluator(metricName="logLoss")
    return request.param(estimator=one, estimatorParamMaps=grid, evaluator=evaluator)


def test_a_grid_of_networks_is_saved_with_their_weights(tuning, networks, data, tmp_path):
    tuning.save(str(tmp_path / "tuning"))
    again = type(tuning).load(str(tmp_path / "tuning"))
    one, maps = again.getEstimator(), again.getEstimatorParamMaps()
    assert [each[one.maxIter] for each in maps] == [1, 1, 2, 2]
    for each, network in zip(maps, networks * 2, strict=True):
        assert_equal(one.copy(each).getNetwork().state, network.state)
    expected = one.fit(data, {one.network: networks[0]})
    assert_equal(one.fit(data, maps[0]).network.state, expected.network.state)


def test_so_is_what_a_fit_of_it_found(tuning, networks, data, classified, tmp_path):
    found = MODELS[type(tuning)](classified, [0.5])
    tuning._copyValues(found)
    found.save(str(tmp_path / "found"))
    again = MODELS[type(tuning)].load(str(tmp_path / "found"))
    assert_equal(again.bestModel.network.state, classified.network.state)
    given = again.getEstimator().copy(again.getEstimatorParamMaps()[-1]).getNetwork()
    np.testing.assert_array_equal(given.state.params, networks[-1].state.params)


def test_the_getter_returns_the_network_itself(networks):
    one = SparkNetworkClassifier(network=networks[0])
    assert one.getNetwork() is networks[0]
    assert one.copy({one.network: networks[1]}).getNetwork() is networks[1]
    assert "GivenNetwork" in one.explainParam("network")


def test_it_transforms_nothing(networks, data):
    one = SparkNetworkClassifier(network=networks[0])
    with pytest.raises(UnsupportedError, match="no columns of its own.*SparkNetwork"):
        one.getOrDefault("network").transform(data)
