"""A search as a stage of a Pipeline."""

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StringIndexer
from pyspark.sql import functions as F

from sparkdl.errors import ConfigError
from sparkdl.ml import (
    SparkNetworkClassificationModel,
    SparkNetworkClassifier,
    SparkNetworkRegressionModel,
    SparkNetworkRegressor,
)
from sparkdl.training.reporting.listeners import Listener
from sparkdl.tune import EnsembleModel, TuneEstimator
from sparkdl.tune.estimator import own_params
from tests.ml.frames import by_id, frame
from tests.ml.test_columns import sole_bag
from tests.ml.test_training_params import values
from tests.tune.spaces import GOOD, POOR, conf_of, define, study_of

PARAMS = {"maxIter": 3, "batchSize": 10}
REFUSED = {
    "estimator": ({"estimator": Pipeline()}, "TuneEstimator.estimator must be a SparkNetworkClass"),
    "network": (
        {"estimator": SparkNetworkClassifier(network=conf_of(GOOD))},
        "TuneEstimator.estimator must have no network, got one; define gives",
    ),
    "listeners": (
        {"estimator": SparkNetworkClassifier(listeners=[Listener()])},
        "TuneEstimator.estimator must have no listeners, as trials call none, got 1",
    ),
    "define": ({"define": None}, "TuneEstimator.define must be a function of an optuna.Trial"),
    "trials": ({"trials": 0}, "TuneEstimator.trials must be an integer >= 1, got 0"),
    "models": ({"models": 0}, "TuneEstimator.models must be an integer >= 1, got 0"),
    "voting": ({"voting": "loud"}, "TuneEstimator.voting must be one of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_option_is_refused(name):
    options, message = REFUSED[name]
    given = {"estimator": SparkNetworkClassifier(), "define": define, "trials": 2} | options
    with pytest.raises(ConfigError, match=message):
        TuneEstimator(**given)


def test_a_pipeline_with_an_ensemble_is_fitted_saved_and_loaded(spark, tmp_path):
    data = frame(spark)
    indexer = StringIndexer(inputCol="kind", outputCol="index")
    stage = SparkNetworkClassifier(labelCol="index", validationSplit=0.25, seed=9, **PARAMS)
    stage.setWeightCol("w").setClassWeights([1.0, 2.0, 1.0]).setPredictionCol("vote")
    stage.setThresholds([0.5, 1.0, 0.25])
    tuner = TuneEstimator(stage, define, 3, study_of(POOR, GOOD, GOOD / 2), models=2)
    model = Pipeline(stages=[indexer, tuner]).fit(data)
    ensemble = model.stages[1]
    assert isinstance(ensemble, EnsembleModel) and len(ensemble.networks) == 2
    assert {network.conf.seed for network in ensemble.networks} == {9}
    assert ensemble.labels == tuple(model.stages[0].labels)
    assert len(tuner.search.table()) == 3
    model.write().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    left_out = {"network", "listeners", "checkpoints", "resume", "resources", "rawPredictionCol"}
    given = {name: value for name, value in values(stage).items() if name not in left_out}
    assert values(ensemble) == values(loaded.stages[1]) == given
    assert {param.name for param in stage.params} - {p.name for p in ensemble.params} == left_out
    assert (ensemble.getMaxIter(), ensemble.getBatchSize(), ensemble.getSeed()) == (3, 10, 9)
    for one, other in zip(
        by_id(model.transform(data), "vote", "probability"),
        by_id(loaded.transform(data), "vote", "probability"),
    ):
        np.testing.assert_array_equal(one, other)


def test_an_ensemble_has_the_params_that_its_trials_share(spark):
    def longer(trial):
        rate = trial.suggest_float("rate", 1e-7, 1.0)
        return conf_of(rate), {"batch_size": 12} | ({"epochs": 4} if rate == GOOD else {})

    stage = SparkNetworkClassifier(monitor="loss", **PARAMS)
    fit = TuneEstimator(stage, longer, 2, study_of(GOOD, POOR), models=2).fit
    ensemble = fit(frame(spark))
    assert ensemble.getBatchSize() == 12
    assert not ensemble.isDefined("maxIter"), "one was trained for 4 epochs, the other for 3"
    assert not hasattr(ensemble, "setBatchSize") and not ensemble.isDefined("seed")


@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("others", [(), ("features",)])
def test_a_model_reads_the_column_that_was_searched(spark, models, others):
    """A search looks for a features column first; without one it reads the bag's own column."""
    ids = {"words": F.col("id") % 4, "features": F.col("id") % 5, "label": F.col("id") % 2}
    data = frame(spark).select(*(ids[name].alias(name) for name in ("words", "label", *others)))

    def bag(trial):
        trial.suggest_float("rate", 1e-7, 1.0)
        return sole_bag(units=2)

    stage = SparkNetworkClassifier(monitor="loss", master="AllReduceSGD", numWorkers=2, **PARAMS)
    tuner = TuneEstimator(stage, bag, models, study_of(GOOD, GOOD), models=models, distributed=True)
    model = tuner.fit(data)
    read = others[0] if others else "words"
    zeros = spark.range(5).select("id", *(F.lit(0).alias(name) for name in ("words", "features")))
    [found] = by_id(model.transform(zeros.withColumn(read, F.col("id"))), "probability")
    assert len(np.unique(found, axis=0)) > 1, "it reads the column that is not 0"
    assert model.getFeaturesCol() == read


def test_one_model_is_that_of_the_estimator(spark):
    data = frame(spark)
    stage = SparkNetworkClassifier(
        validationIndicatorCol="apart", monitor="validation accuracy", **PARAMS
    )
    study = study_of(POOR, GOOD, direction="maximize")
    model = TuneEstimator(stage, define, 2, study).fit(data)
    assert isinstance(model, SparkNetworkClassificationModel)
    apart = model.evaluate(data.filter("apart"))
    assert apart.accuracy == pytest.approx(study.best_value)
    assert (model.getMaxIter(), model.getBatchSize()) == (3, 10)


def test_a_model_has_the_params_of_its_trial(spark):
    def longer(trial):
        rate = trial.suggest_float("rate", 1e-7, 1.0)
        return conf_of(rate), {"epochs": 5 if rate == GOOD else 2, "batch_size": np.int64(9)}

    tuner = TuneEstimator(
        SparkNetworkClassifier(monitor="loss", **PARAMS), longer, 2, study_of(GOOD, POOR)
    )
    model = tuner.fit(frame(spark))
    assert (model.getMaxIter(), model.getBatchSize()) == (5, 9)
    tuner.estimator.setListeners([Listener()])
    with pytest.raises(ConfigError, match="must have no listeners"):
        tuner.fit(frame(spark))
    for name, value in {"validateEvery": 3, "resume": True}.items():
        stage = SparkNetworkClassifier(**{name: value}, **PARAMS)
        with pytest.raises(
            ConfigError, match=f"must have no {name}, as trials read none, got {value}"
        ):
            TuneEstimator(stage, longer, 2)


def test_a_param_map_reaches_the_estimator(spark):
    """As pyspark.ml's CrossValidator gives its estimator the values of a param map."""
    stage = SparkNetworkClassifier(monitor="loss", **PARAMS)
    tuner = TuneEstimator(stage, define, 1, study_of(GOOD))
    given = {stage.maxIter: 2, stage.predictionCol: "vote"}
    [model] = Pipeline(stages=[tuner]).fit(frame(spark), given).stages
    assert (model.network.state.epoch, model.getMaxIter(), model.getPredictionCol()) == (
        2,
        2,
        "vote",
    )
    assert (stage.getMaxIter(), stage.getPredictionCol()) == (3, "prediction")
    with pytest.raises(ConfigError, match="TuneEstimator.estimator must have no network"):
        tuner.fit(frame(spark), {stage.network: conf_of(GOOD)})


def test_own_params_are_those_that_can_be():
    options = {"epochs": np.int64(3), "batch_size": "large", "patience": 2}
    assert own_params(options) == {"maxIter": 3} and type(own_params(options)["maxIter"]) is int


def test_a_regressor_is_tuned_too(spark):
    data = frame(spark)
    stage = SparkNetworkRegressor(labelCol="w", monitor="loss", **PARAMS)

    def values(trial):
        return conf_of(trial.suggest_float("rate", 1e-7, 1.0) / 10, units=1, loss="mse")

    model = TuneEstimator(stage, values, 2, study_of(POOR, GOOD)).fit(data)
    assert isinstance(model, SparkNetworkRegressionModel)
    with pytest.raises(ConfigError, match="SparkNetworkRegressor.network must end in values"):
        TuneEstimator(stage, define, 2, study_of(GOOD)).fit(data)
