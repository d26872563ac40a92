"""Unevenly dealt rows and Params set from outside, after the tests of xgboost.spark."""

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as F

from sparkdl.ml import SparkNetworkClassifier, SparkNetworkRegressor
from tests.ml.conftest import SMALL
from tests.ml.frames import by_id, classes_conf, values_conf
from tests.training.models import assert_equal

ALONE = {"a row to evaluate on": (59, 1), "a row to train on": (1, 59)}


@pytest.mark.parametrize("case", ALONE)
def test_a_row_alone_is_for_one_of_two_workers(case, data):
    """One of the two workers has nothing to train on, or nothing to evaluate on."""
    trained, evaluated = ALONE[case]
    marked = data.withColumn("apart", F.col("id") >= trained)
    one = SparkNetworkClassifier(
        network=classes_conf(), validationIndicatorCol="apart", maxIter=2, **SMALL
    )
    epochs = one.fit(marked.repartition(2)).history.epochs
    assert [(each.examples, each.validation.examples) for each in epochs] == [
        (trained, evaluated)
    ] * 2


def test_arrays_are_what_vectors_are(data):
    one = SparkNetworkRegressor(network=values_conf(), **SMALL)
    lists = data.withColumn("features", vector_to_array("features"))
    assert_equal(one.fit(lists).network.state, one.fit(data).network.state)


def test_params_given_to_a_copied_pipeline_are_saved_with_its_model(data, tmp_path):
    stage = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    given = {stage.maxIter: 2, stage.seed: 11, stage.probabilityCol: "p"}
    model = Pipeline(stages=[stage]).copy(given).fit(data)
    model.save(str(tmp_path / "model"))
    [again] = PipelineModel.load(str(tmp_path / "model")).stages
    assert (again.getProbabilityCol(), again.network.conf.seed) == ("p", 11)
    assert (again.network.state.epoch, stage.getMaxIter()) == (2, 1)
    found, expected = (by_id(each.transform(data), "p")[0] for each in (again, model))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numbers_of_numpy_are_numbers():
    one = SparkNetworkClassifier(maxIter=np.int64(3), minDelta=np.float64(0.5), seed=np.int64(1))
    values = one.getMaxIter(), one.getMinDelta(), one.getSeed()
    assert values == (3, 0.5, 1) and [*map(type, values)] == [int, float, int]
