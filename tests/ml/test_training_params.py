"""Models report the Params with which they were fitted, as those of pyspark.ml do."""

import json

import numpy as np
import pytest
from pyspark import cloudpickle
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import MulticlassClassificationEvaluator, RegressionEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit

from sparkdl import ml
from sparkdl.listeners import TerminateOnTime
from sparkdl.masters import AllReduceSGD
from sparkdl.ml import (
    SparkNetworkClassificationModel,
    SparkNetworkClassifier,
    SparkNetworkEstimator,
    SparkNetworkModel,
    SparkNetworkRegressionModel,
    SparkNetworkRegressor,
)
from sparkdl.training.network import Network
from sparkdl.transforms import Scale
from tests.ml.conftest import SMALL
from tests.ml.frames import by_id, classes_conf, values_conf

ROWS = {  # estimator, model, network, own options, evaluator
    "classifier": (
        SparkNetworkClassifier,
        SparkNetworkClassificationModel,
        classes_conf(),
        {"classWeights": [1.0, 2.0, 1.0]},
        MulticlassClassificationEvaluator,
    ),
    "regressor": (
        SparkNetworkRegressor,
        SparkNetworkRegressionModel,
        values_conf(),
        {},
        RegressionEvaluator,
    ),
    "estimator": (
        SparkNetworkEstimator,
        SparkNetworkModel,
        classes_conf(),
        {},
        MulticlassClassificationEvaluator,
    ),
}
GIVEN = {
    "maxIter": 2,
    "seed": 5,
    "weightCol": "w",
    "validationSplit": 0.25,
    "validateEvery": 2,
    "monitor": "loss",
    "patience": 3,
    "minDelta": 0.125,
    "restoreBestWeights": True,
    "batchSize": 10,
    "numWorkers": 2,
    "master": AllReduceSGD(),
    "preprocessing": Scale(factor=2.0),
}
SET_LATER = {"master", "preprocessing", "weightCol"}  # read by the model itself
LEFT_OUT = {"network", "listeners", "checkpoints", "resume", "resources"}
DEFAULTS = {"maxIter": 1, "monitor": "validation loss", "minDelta": 0.0}
DEFAULTS |= {"restoreBestWeights": False}
BEFORE = {*GIVEN, "classWeights", "validationIndicatorCol"} - SET_LATER  # missing in old models


def word(verb, name):
    return f"{verb}{name[0].upper()}{name[1:]}"


def values(stage):
    """Returns {name: value} of all Params with a value."""
    return {param.name: value for param, value in stage.extractParamMap().items()}


def set_names(stage):
    """Returns the names of the Params that were set explicitly."""
    return [param.name for param in stage.params if stage.isSet(param)]


@pytest.fixture(scope="module", params=ROWS)
def fitted(request, data):
    """An estimator, and the model that it fitted to `data`."""
    estimator, _, conf, own, _ = ROWS[request.param]
    listeners = [TerminateOnTime(600)]
    one = estimator(network=conf, listeners=listeners, **GIVEN, **own)
    return one, one.fit(data)


def test_every_value_of_the_estimator_is_in_its_model(fitted):
    one, model = fitted
    given = GIVEN | ({"classWeights": [1.0, 2.0, 1.0]} if one.hasParam("classWeights") else {})
    assert {name: getattr(model, word("get", name))() for name in given} == given
    assert values(model) == {n: v for n, v in values(one).items() if n not in LEFT_OUT}
    assert set_names(model) == [name for name in set_names(one) if name not in LEFT_OUT]
    explained = model.explainParams()
    assert (
        "maxIter: epochs: passes over the training rows (>= 1). (default: 1, current: 2)"
        in explained
    )
    assert "patience: evaluations without a better figure" in explained


@pytest.fixture(scope="module")
def regression(data):
    """A model of pyspark fitted with the same Params."""
    return LogisticRegression(maxIter=GIVEN["maxIter"], weightCol=GIVEN["weightCol"]).fit(data)


def test_getters_after_a_fit_are_those_of_pyspark(fitted, regression):
    """A LogisticRegressionModel, too, gives the values it shares with its estimator."""
    _, model = fitted
    for getter in "getMaxIter", "getWeightCol":
        assert getattr(model, getter)() == getattr(regression, getter)()
    assert not any(hasattr(each, "setMaxIter") for each in (model, regression))


def test_a_param_map_is_what_the_model_says(fitted, data):
    one, _ = fitted
    model = one.fit(data, {one.maxIter: 1, one.batchSize: 15, one.master: "ParameterAveraging"})
    assert (model.getMaxIter(), model.getBatchSize(), model.getSeed()) == (1, 15, 5)
    assert model.getMaster().type_name == "ParameterAveraging"
    assert (one.getMaxIter(), one.getBatchSize()) == (2, 10)
    assert model.network.state.epoch == 1


def test_copies_and_saved_models_keep_them(fitted, tmp_path):
    _, model = fitted
    assert values(model.copy()) == values(model)
    assert model.copy({model.maxIter: 7}).getMaxIter() == 7 and model.getMaxIter() == 2
    assert values(cloudpickle.loads(cloudpickle.dumps(model))) == values(model)
    model.save(str(tmp_path / "model"))
    again = type(model).load(str(tmp_path / "model"))
    assert values(again) == values(model)
    assert set_names(again) == set_names(model)


@pytest.fixture(scope="module")
def predicted(fitted, data):
    return by_id(fitted[1].transform(data), "prediction")[0]


def test_predictions_do_not_depend_on_them(fitted, predicted, data):
    _, model = fitted
    bare = type(model)(model.network).setPreprocessing(Scale(factor=2.0)).setWeightCol("w")
    np.testing.assert_array_equal(predicted, by_id(bare.transform(data), "prediction")[0])
    assert model.evaluate(data).figures() == bare.evaluate(data).figures()
    function, plain = (each.map_function(data.schema)[0] for each in (model, bare))
    assert len(cloudpickle.dumps(function)) <= len(cloudpickle.dumps(plain)) + 8
    assert b"TerminateOnTime" not in cloudpickle.dumps(model)


def test_a_model_that_was_saved_without_them_is_loaded(fitted, predicted, data, tmp_path):
    _, model = fitted
    model.save(str(tmp_path / "model"))
    strip(tmp_path / "model" / "metadata")
    again = type(model).load(str(tmp_path / "model"))
    assert [name for name in BEFORE if again.hasParam(name) and again.isDefined(name)] == []
    assert (
        "maxIter: epochs: passes over the training rows (>= 1). (undefined)"
        in again.explainParams()
    )
    np.testing.assert_array_equal(by_id(again.transform(data), "prediction")[0], predicted)


def strip(folder):
    """Reduces saved metadata to what old models had."""
    [part] = folder.glob("part-*")
    metadata = json.loads(part.read_text())
    for kept in "paramMap", "defaultParamMap":
        metadata[kept] = {n: v for n, v in metadata[kept].items() if n not in BEFORE}
    (folder / f".{part.name}.crc").unlink()
    part.write_text(json.dumps(metadata) + "\n")


@pytest.mark.parametrize("name", ROWS)
def test_params_that_were_not_given_are_the_defaults(name, data, tmp_path):
    """None counts as not given, and does not prevent a model from being loaded."""
    estimator, _, conf, *_ = ROWS[name]
    nothing = {"weightCol": None, "validationIndicatorCol": None}
    model = estimator(network=conf, **nothing, **SMALL).fit(data)
    assert {n: values(model)[n] for n in DEFAULTS} == DEFAULTS
    assert not any(model.isSet(n) for n in DEFAULTS)
    assert not any(model.isDefined(n) for n in ("seed", "patience", "validationSplit"))
    model.save(str(tmp_path / "model"))
    again = type(model).load(str(tmp_path / "model"))
    assert {n: v for n, v in values(model).items() if n not in nothing} == values(again)


SPLIT = TrainValidationSplit, {"trainRatio": 0.5}, "validationMetrics"
SEARCHES = {  # all estimators are fitted alike, so one row uses the slower folds
    "classifier": (CrossValidator, {"numFolds": 2}, "avgMetrics"),
    "regressor": SPLIT,
    "estimator": SPLIT,
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
def test_the_best_model_says_which_params_won(name, data, tmp_path):
    estimator, _, conf, _, evaluator = ROWS[name]
    search, options, metrics = SEARCHES[name]
    one, evaluator = estimator(network=conf, seed=2, **SMALL), evaluator()
    grid = ParamGridBuilder().addGrid(one.maxIter, [1, 4]).build()
    options = options | {"estimatorParamMaps": grid, "evaluator": evaluator, "seed": 3}
    found = search(estimator=one, **options).fit(data)
    choose = np.argmax if evaluator.isLargerBetter() else np.argmin
    best = grid[int(choose(getattr(found, metrics)))][one.maxIter]
    assert found.bestModel.getMaxIter() == found.bestModel.network.state.epoch == best
    found.save(str(tmp_path / "found"))
    again = type(found).load(str(tmp_path / "found"))
    assert values(again.bestModel) == values(found.bestModel)


@pytest.mark.parametrize("name", ROWS)
def test_a_model_has_the_params_of_its_estimator_and_no_setters_of_a_fit(name):
    estimator, model, conf, *_ = ROWS[name]
    one, model = estimator(), model(Network(conf))
    assert {p.name for p in one.params} - {p.name for p in model.params} == LEFT_OUT
    for param in one.params:
        if param.name in BEFORE:
            assert hasattr(model, word("get", param.name)), param.name
            assert not hasattr(model, word("set", param.name)), param.name
            assert not model.isDefined(param.name), "it was not fitted"


def test_the_table_has_all_estimators():
    assert {cls.__name__ for row in ROWS.values() for cls in row[:2]} == {*ml.__all__}
