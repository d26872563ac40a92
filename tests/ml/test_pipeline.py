"""Stages inside pyspark.ml: Pipelines, cross-validation, streams."""

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import Normalizer, VectorSlicer
from pyspark.ml.tuning import (
    CrossValidator,
    CrossValidatorModel,
    ParamGridBuilder,
    TrainValidationSplit,
)
from pyspark.sql import functions as F

from sparkdl.errors import DataError
from sparkdl.ml import SparkNetworkClassifier, SparkNetworkEstimator
from tests.ml.conftest import SMALL
from tests.ml.frames import arrays, by_id, classes_conf, two_inputs
from tests.training.models import assert_equal


def metric():
    return MulticlassClassificationEvaluator(metricName="logLoss")


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
def test_cross_validation_gives_the_metrics_of_a_loop_by_hand(data, tmp_path):
    folds = data.withColumn("fold", (F.col("id") % 2).cast("int"))
    one = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    pipeline = Pipeline(stages=[Normalizer(inputCol="features", outputCol="scaled"), one])
    one.setFeaturesCol("scaled")
    grid = ParamGridBuilder().addGrid(one.maxIter, [1, 3])
    grid = grid.addGrid(one.network, [classes_conf()]).build()
    cross = CrossValidator(
        estimator=pipeline,
        estimatorParamMaps=grid,
        evaluator=metric(),
        numFolds=2,
        foldCol="fold",
        parallelism=2,
    )
    found = cross.fit(folds)
    by_hand = [np.mean([hand(pipeline, folds, fold, params) for fold in (0, 1)]) for params in grid]
    np.testing.assert_allclose(found.avgMetrics, by_hand, rtol=1e-6)
    assert found.bestModel.stages[-1].network.state.epoch == (1, 3)[int(np.argmin(by_hand))]

    found.save(str(tmp_path / "found"))
    again = CrossValidatorModel.load(str(tmp_path / "found"))
    assert again.avgMetrics == found.avgMetrics
    best, kept = (model.bestModel.stages[-1] for model in (again, found))
    assert_equal(best.network.state, kept.network.state)
    maps = [{param.name: value for param, value in each.items()} for each in grid]
    assert maps == [
        {param.name: value for param, value in each.items()}
        for each in again.getEstimatorParamMaps()
    ]


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
def test_a_train_validation_split_gives_the_metrics_of_a_loop_by_hand(data):
    one = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    grid = ParamGridBuilder().addGrid(one.maxIter, [1, 3]).build()
    options = {"estimatorParamMaps": grid, "evaluator": metric(), "trainRatio": 0.6, "seed": 3}
    found = TrainValidationSplit(estimator=one, parallelism=2, **options).fit(data)
    drawn = data.select("*", F.rand(3).alias("drawn"))  # the split that TrainValidationSplit draws
    train, test = drawn.filter("drawn < 0.6"), drawn.filter("drawn >= 0.6")
    by_hand = [metric().evaluate(one.fit(train, params).transform(test)) for params in grid]
    np.testing.assert_allclose(found.validationMetrics, by_hand, rtol=1e-6)
    assert found.bestModel.network.state.epoch == (1, 3)[int(np.argmin(by_hand))]


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
def test_several_inputs_are_columns_of_earlier_stages(data, tmp_path):
    cut = {"a": [0, 1], "b": [1, 2, 3]}
    slices = [VectorSlicer(inputCol="features", outputCol=c, indices=i) for c, i in cut.items()]
    one = SparkNetworkClassifier(network=two_inputs(), featuresCol=["a", "b"], **SMALL)
    one.write().overwrite().save(str(tmp_path / "stage"))
    assert SparkNetworkClassifier.load(str(tmp_path / "stage")).getFeaturesCol() == ["a", "b"]
    grid = ParamGridBuilder().addGrid(one.maxIter, [1, 2]).build()
    pipeline = Pipeline(stages=[*slices, one])
    options = {"estimatorParamMaps": grid, "evaluator": metric(), "numFolds": 2, "seed": 3}
    best = CrossValidator(estimator=pipeline, **options).fit(data).bestModel
    best.save(str(tmp_path / "best"))
    model = PipelineModel.load(str(tmp_path / "best")).stages[-1]
    assert model.getFeaturesCol() == ["a", "b"]

    parts = Pipeline(stages=slices).fit(data).transform(data)
    general = SparkNetworkEstimator(network=two_inputs(), featuresCol=["a", "b"], **SMALL)
    expected = general.fit(parts, {general.maxIter: model.getMaxIter()})
    assert_equal(model.network.state, expected.network.state)
    [found], [theirs] = (by_id(m.transform(parts), "probability") for m in (model, expected))
    np.testing.assert_array_equal(found, theirs)
    assert model.evaluate(parts).figures() == expected.evaluate(parts).figures()

    x = arrays()[0]
    record = {"left": x[3, :2], "right": x[3, 1:].tolist()}
    assert model.predict(record) == theirs[3].argmax()
    np.testing.assert_allclose(model.predictProbability(record), theirs[3], rtol=1e-5)
    np.testing.assert_allclose(model.predictRaw(record).toArray().argmax(), theirs[3].argmax())
    assert model.numFeatures == 5
    swapped = model.copy({model.featuresCol: ["b", "a"]})
    with pytest.raises(DataError, match="column 'b' must have 2 numbers, got 3"):
        swapped.evaluate(parts)


def test_a_model_is_known_by_its_estimator(data):
    one = SparkNetworkClassifier(network=classes_conf(), maxIter=2, **SMALL)
    few = data.filter("id < 12").repartition(9, "id")  # partitions of one row, several, or none
    model = one.fit(few, {one.seed: 9})
    assert (model.uid, one.isSet(one.seed)) == (one.uid, False)
    assert model.predictionCol.parent == model.uid
    assert model.history.epochs[-1].examples == 12


def hand(pipeline, folds, fold, params):
    train, test = (folds.filter(f"fold {sign} {fold}") for sign in ("!=", "="))
    return metric().evaluate(pipeline.fit(train, params).transform(test))


def test_a_list_of_param_maps_gives_a_model_for_each(data):
    one = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    models = one.fit(data, [{one.seed: 1}, {one.seed: 2, one.maxIter: 2}])
    assert [model.network.conf.seed for model in models] == [1, 2]
    assert [model.network.state.epoch for model in models] == [1, 2]
    assert one.getMaxIter() == 1


def test_a_stream_gets_the_same_columns(classified, indexed, spark, tmp_path):
    folder = str(tmp_path / "data")
    indexed.select("id", "features").coalesce(1).write.parquet(folder)
    stream = spark.readStream.schema(indexed.select("id", "features").schema).parquet(folder)
    query = (
        classified.transform(stream)
        .writeStream.format("memory")
        .queryName("classified")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    [found] = by_id(spark.table("classified"), "probability")
    [expected] = by_id(classified.transform(indexed), "probability")
    np.testing.assert_allclose(found, expected, rtol=1e-6)
