"""The classifier gives the weights of SparkNetwork.fit, and the columns of pyspark.ml."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import IndexToString, StringIndexer
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import functions as F
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

from sparkdl.errors import ConfigError, DataError
from sparkdl.masters import AllReduceSGD
from sparkdl.ml import SparkNetworkClassificationModel, SparkNetworkClassifier
from sparkdl.nn import Conv2D, Nesterov, NetworkConf, Output
from sparkdl.nn.execution.forward import Z
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.transforms import Scale
from tests.ml.conftest import SMALL
from tests.ml.frames import arrays, by_id, classes_conf, values_conf
from tests.support.bus import told_all
from tests.training.models import assert_equal

SCALE = Scale(factor=2.0)
YES_OR_NO = classes_conf(1, loss="sigmoid_cross_entropy")


def test_weights_are_those_of_spark_network(classified, indexed, sc):
    master = ParameterAveraging(batch_size_per_worker=10, workers=2)
    net = SparkNetwork(sc, replace(classes_conf(), seed=7), master)
    train, apart = indexed.filter("not apart"), indexed.filter("apart")
    history = net.fit(train, 2, apart, label="index", weights="w", transform=SCALE)
    assert_equal(classified.network.state, net.network.state)
    found = [epoch.validation.loss for epoch in classified.history.epochs]
    assert found == [epoch.validation.loss for epoch in history.epochs]
    assert len(found) == 2
    (y, _), w, truth = expected(classified), *by_id(indexed, "w", "index")
    losses = -np.log(y[np.arange(len(y)), truth.astype(int)]) * w
    assert found[1] == pytest.approx(losses[41:].mean(), rel=1e-5), "weighted as those trained on"


def expected(model):
    """Returns the network's own probabilities and scores."""
    x, name = 2 * arrays()[0].astype(np.float32), model.network.conf.output.name
    found = model.network.features(x, [name, name + Z])
    return found[name], found[name + Z]


def test_columns_are_what_the_network_gives(classified, indexed):
    found = classified.transform(indexed)
    assert found.columns[len(indexed.columns) :] == ["prediction", "probability", "rawPrediction"]
    assert found.schema["prediction"].dataType.simpleString() == "double"
    assert found.schema["probability"].dataType == found.schema["rawPrediction"].dataType
    assert found.schema["probability"].dataType == VectorUDT()
    assert found.schema == classified.transformSchema(indexed.schema)
    prediction, p, raw, features = by_id(
        found, "prediction", "probability", "rawPrediction", "features"
    )
    y, z = expected(classified)
    np.testing.assert_allclose(features, arrays()[0])
    np.testing.assert_allclose(p, y, rtol=1e-5)
    np.testing.assert_allclose(raw, z, rtol=1e-4, atol=1e-5)
    assert prediction.tolist() == y.argmax(axis=1).tolist()


def test_one_record_needs_no_spark(classified):
    x, (y, z) = arrays()[0], expected(classified)
    for value in (Vectors.dense(x[3]), Vectors.sparse(4, dict(enumerate(x[3]))), x[3].tolist()):
        assert classified.predict(value) == y[3].argmax()
        np.testing.assert_allclose(classified.predictProbability(value), y[3], rtol=1e-5)
        np.testing.assert_allclose(classified.predictRaw(value), z[3], rtol=1e-4, atol=1e-5)
    assert (classified.numClasses, classified.numFeatures) == (3, 4)


def test_names_of_classes_are_kept(classified, indexed):
    names = ("x", "y", "z")
    assert sorted(classified.labels) == sorted(names)
    noted = classified.transform(indexed).schema["prediction"].metadata["ml_attr"]
    assert noted == {"type": "nominal", "vals": list(classified.labels)}
    result = classified.copy({classified.weightCol: ""}).evaluate(indexed)
    assert result.labels == classified.labels
    y, _ = expected(classified)
    [truth] = by_id(indexed, "index")
    assert result.accuracy == pytest.approx((y.argmax(axis=1) == truth).mean())
    p = y[np.arange(len(y)), truth.astype(int)]
    worst = np.argsort(p)[:12]
    wrong = [(classified.labels[int(truth[n])], classified.labels[y[n].argmax()]) for n in worst]
    assert [(one.truth, one.prediction.split(" (")[0]) for one in result.wrong] == wrong


def test_names_of_a_yes_or_no_are_those_of_its_indexer(data):
    """A binary output is the probability of the second class, the positive one in evaluations."""
    texts = data.withColumn("found", F.when(F.col("yes") == 1, "ill").otherwise("well"))
    indexer = StringIndexer(inputCol="found", outputCol="index", stringOrderType="alphabetDesc")
    indexer = indexer.fit(texts)
    named, options = indexer.transform(texts), {"labelCol": "index", "maxIter": 3, **SMALL}
    model = SparkNetworkClassifier(network=YES_OR_NO, **options).fit(named)
    assert model.labels == tuple(indexer.labels) == ("well", "ill")
    found = model.transform(named)
    noted = found.schema["prediction"].metadata["ml_attr"]
    assert noted == {"type": "nominal", "vals": ["well", "ill"]}
    texts = IndexToString(inputCol="prediction", outputCol="word").transform(found)
    words, truth, p = by_id(texts, "word", "found", "probability")
    assert set(words) == {"well", "ill"}
    result = model.evaluate(named)
    assert result.labels == ("ill",) and "ill" in str(result)
    assert result.accuracy == pytest.approx(accuracy_score(truth, words))
    assert result.precision == pytest.approx(precision_score(truth, words, pos_label="ill"))
    assert result.recall == pytest.approx(recall_score(truth, words, pos_label="ill"))
    assert result.auc() == pytest.approx(roc_auc_score(truth == "ill", p[:, 1]))


def test_images_of_sparks_own_source(spark, tmp_path):
    """Training on images that Spark decodes equals training on their pixels as lists."""
    drawn = np.random.default_rng(3).integers(0, 256, (12, 4, 5, 3)).astype(np.uint8)
    for i, pixels in enumerate(drawn):
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    bgr = {f"{i}.png": pixels[..., ::-1].transpose(2, 0, 1) for i, pixels in enumerate(drawn)}
    name = F.element_at(F.split("image.origin", "/"), -1)
    frame = spark.read.format("image").load(str(tmp_path)).withColumn("name", name)
    frame = frame.withColumn("label", F.split("name", "[.]")[0].cast("int") % 3)
    flat = F.udf(lambda name: bgr[name].ravel().astype(float).tolist(), "array<float>")("name")
    frame = frame.withColumn("flat", flat).coalesce(2).cache()  # no shuffle: rows stay in order
    layers = [Conv2D(filters=2, kernel_size=2, activation="tanh"), Output(units=3)]
    conf = NetworkConf(input_shape=(3, 4, 5), layers=layers, seed=4)
    options = {"network": conf, "preprocessing": Scale(factor=1 / 255), "maxIter": 2, **SMALL}
    one = SparkNetworkClassifier(featuresCol="image", **options)
    model, same = one.fit(frame), one.setFeaturesCol("flat").fit(frame)
    assert_equal(model.network.state, same.network.state)
    rows = model.transform(frame).select("name", "probability").collect()
    x = np.stack([bgr[row["name"]] for row in rows]).astype(np.float32) * np.float32(1 / 255)
    found = np.array([row["probability"].toArray() for row in rows])
    np.testing.assert_allclose(found, model.network.predict(x), rtol=1e-5)
    assert len(found) == 12 and np.ptp(found[:, 0]) > 1e-3
    frame.unpersist()


def test_names_of_columns_and_thresholds_are_those_of_the_params(classified, indexed):
    once = classified.transform(indexed)
    options = {"predictionCol": "class", "probabilityCol": "", "rawPredictionCol": ""}
    params = {getattr(classified, name): value for name, value in options.items()}
    params[classified.thresholds] = [1.0, 1e-6, 1.0]
    twice = classified.transform(once, params)
    assert twice.columns == [*once.columns, "class"]
    assert set(by_id(twice, "class")[0]) == {1.0}
    with pytest.raises(ConfigError, match="must not have the columns .*'prediction'.* yet"):
        classified.transform(once)
    with pytest.raises(ConfigError, match="one for each of 3 classes, got 2"):
        classified.copy({classified.thresholds: [1.0, 1.0]}).transform(indexed)


LIMITS = {"classified": ("index", [0.2, 0.9, 0.0]), "answered": ("yes", [0.9, 0.4])}


@pytest.mark.parametrize("name", LIMITS)
def test_evaluations_count_the_classes_that_thresholds_choose(name, indexed, request):
    label, thresholds = LIMITS[name]
    plain = request.getfixturevalue(name)
    plain = plain.copy({plain.weightCol: ""})
    model = plain.copy({plain.thresholds: thresholds})
    prediction, truth = by_id(model.transform(indexed), "prediction", label)
    result, before = model.evaluate(indexed), plain.evaluate(indexed)
    assert result.accuracy == pytest.approx(accuracy_score(truth, prediction))
    assert result.accuracy != before.accuracy
    average = {"average": "macro" if name == "classified" else "binary", "zero_division": 0}
    assert result.precision == pytest.approx(precision_score(truth, prediction, **average))
    assert result.recall == pytest.approx(recall_score(truth, prediction, **average))
    assert (result.loss, result.auc()) == pytest.approx((before.loss, before.auc()))
    assert (result.labels, len(result.wrong)) == (before.labels, 12)
    if name == "classified":
        assert result.calibration_error == pytest.approx(before.calibration_error)


def test_names_of_columns_may_have_dots_and_backticks(classified, indexed):
    """The weights and figures equal those of plainly named columns."""
    own = {"features": "x.`y", "index": "a.b", "w": "w.", "apart": "set.apart"}
    frame = indexed.withColumnsRenamed(own)
    names = {"featuresCol": "x.`y", "labelCol": "a.b", "weightCol": "w."}
    options = {"validationIndicatorCol": "set.apart", "seed": 7, "preprocessing": SCALE}
    one = SparkNetworkClassifier(network=classes_conf(), maxIter=2, **names, **options, **SMALL)
    model = one.fit(frame)
    assert_equal(model.network.state, classified.network.state)
    found = [epoch.validation.loss for epoch in model.history.epochs]
    assert found == [epoch.validation.loss for epoch in classified.history.epochs]
    assert model.evaluate(frame).loss == pytest.approx(classified.evaluate(indexed).loss)
    result = model.transform(frame)
    assert result.schema == model.transformSchema(frame.schema)
    y, _ = expected(classified)
    assert by_id(result, "prediction")[0].tolist() == y.argmax(axis=1).tolist()


def test_an_empty_name_sets_no_rows_apart(data):
    one = SparkNetworkClassifier(network=classes_conf(), validationIndicatorCol="", **SMALL)
    assert one.fit(data).history.epochs[0].validation is None


def test_one_yes_or_no_is_two_classes(answered, data):
    found = answered.transform(data)
    prediction, p, raw, yes = by_id(found, "prediction", "probability", "rawPrediction", "yes")
    x = arrays()[0].astype(np.float32)
    y = answered.network.predict(x)[:, 0]
    np.testing.assert_allclose(p, np.stack([1 - y, y], axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(raw[:, 1], np.log(y / (1 - y)), rtol=1e-3, atol=1e-4)
    assert prediction.tolist() == (y > 0.5).tolist()
    notes = [found.schema[name].metadata["ml_attr"] for name in found.columns[len(data.columns) :]]
    width = {"num_attrs": 2}
    assert notes == [{"type": "nominal", "num_vals": 2}, width, width], "as pyspark.ml has them"
    auc = BinaryClassificationEvaluator(labelCol="yes").evaluate(found)
    assert auc == pytest.approx(roc_auc_score(yes, y))
    assert answered.numClasses == 2


def test_evaluators_of_two_classes_rank_by_their_probability(data):
    """BinaryClassificationEvaluator uses only the second number of rawPrediction."""
    model = SparkNetworkClassificationModel(Network(classes_conf(2)))
    found = model.transform(data)
    p, raw, yes = by_id(found, "probability", "rawPrediction", "yes")
    auc = BinaryClassificationEvaluator(labelCol="yes", numBins=0).evaluate(found)
    assert auc == pytest.approx(roc_auc_score(yes, p[:, 1]))
    np.testing.assert_allclose(raw[:, 1] - raw[:, 0], np.log(p[:, 1] / p[:, 0]), atol=1e-5)
    np.testing.assert_allclose(model.predictRaw(arrays()[0][3]), raw[3], rtol=1e-4, atol=1e-5)


REFUSED = {
    "no network": ({"network": None}, ConfigError, "SparkNetworkClassifier.network must be given"),
    "values": ({"network": values_conf()}, ConfigError, "must end in classes, got .*Regressor"),
    "several yes-or-no labels": (
        {"network": classes_conf(2, loss="sigmoid_cross_entropy")},
        ConfigError,
        "SparkNetworkEstimator also for several yes-or-no labels",
    ),
    "no such column": ({"featuresCol": "feature"}, DataError, "has no column 'feature'; columns"),
    "texts": ({"labelCol": "kind"}, DataError, "outputCol='kind_index'.*labelCol='kind_index'"),
    "one number": ({"featuresCol": "label"}, DataError, "VectorAssembler puts"),
    "no weights": ({"weightCol": "weight"}, DataError, "has no column 'weight'"),
    "weights of lists": ({"weightCol": "two"}, DataError, "must hold a number a record"),
    "no validation": ({"validationIndicatorCol": "is"}, DataError, "has no column 'is'"),
    "validation of numbers": (
        {"validationIndicatorCol": "w"},
        DataError,
        "column 'w' must be boolean to select validation rows, got double",
    ),
    "two thresholds": ({"thresholds": [1.0, 2.0]}, ConfigError, "one for each of 3 classes"),
    "a threshold of NaN": (
        {"thresholds": [1.0, math.nan, 1.0]},
        ConfigError,
        "must be numbers",
    ),
    "a name twice": (
        {"probabilityCol": "p", "rawPredictionCol": "p"},
        ConfigError,
        "rawPredictionCol must be another name than those of other columns of predictions, got 'p'",
    ),
    "thresholds below 0": ({"thresholds": [1.0, -2.0, 1.0]}, ConfigError, "must be numbers above"),
    "two factors": ({"classWeights": [1.0, 2.0]}, ConfigError, "classWeights must have one for"),
    "no batch": ({"batchSize": 0}, ConfigError, "batch_size_per_worker must be an integer >= 1"),
    "no workers": ({"numWorkers": 0}, ConfigError, "workers must be an integer >= 1 or None"),
    "workers below 0": ({"numWorkers": -1}, ConfigError, "workers must be an integer >= 1 or None"),
    "a seed below 0": ({"seed": -1}, ConfigError, "seed must be"),
    "no epochs": ({"maxIter": 0}, ConfigError, "^maxIter must be an integer >= 1, got 0$"),
    "epochs below 0": ({"maxIter": -1}, ConfigError, "^maxIter must be an integer >= 1, got -1$"),
}


def test_what_cannot_be_is_refused_before_any_job(data, sc):
    sc.setJobGroup("refused", "")
    for case, (options, error, message) in REFUSED.items():
        given = {"network": classes_conf()} | options
        given = {name: value for name, value in given.items() if value is not None}
        with pytest.raises(error, match=message) as caught:
            SparkNetworkClassifier(**given).fit(data)
        assert len(str(caught.value)) < 400, case
    assert not told_all(sc).statusTracker().getJobIdsForGroup("refused")
    sc.setLocalProperty("spark.jobGroup.id", None)


WEIGHTED = {
    "classes": (classes_conf(), "label", [1.0, 3.0, 1.0]),
    "yes": (YES_OR_NO, "yes", [1, 3]),
}


@pytest.mark.parametrize("case", WEIGHTED)
def test_class_weights_are_factors_of_the_weights(case, data):
    network, label, factors = WEIGHTED[case]
    options = {"network": network, "labelCol": label, "batchSize": 10, "numWorkers": 2}
    by_hand = data.withColumn("v", F.when(F.col(label) == 1, 3.0).otherwise(1.0) * F.col("w"))
    given = SparkNetworkClassifier(weightCol="w", classWeights=factors, **options).fit(data)
    expected = SparkNetworkClassifier(weightCol="v", **options).fit(by_hand)
    assert_equal(given.network.state, expected.network.state)


def test_a_convex_problem_has_the_solution_of_scikit_learn(data):
    l2, (x, y) = 0.05, arrays()
    softmax = NetworkConf(
        input_shape=(4,), layers=[Output(units=3)], l2=l2, optimizer=Nesterov(learning_rate=0.5)
    )
    # One worker has all records in each batch.
    options = {"master": AllReduceSGD(repartition="always"), "batchSize": 60, "numWorkers": 1}
    model = SparkNetworkClassifier(network=softmax, maxIter=120, **options).fit(data)
    [p] = by_id(model.transform(data), "probability")
    theirs = LogisticRegression(C=1 / (len(x) * l2), tol=1e-8).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(p, theirs, atol=2e-4)


def test_a_fit_ends_early_with_the_best_weights(data, sc):
    options = {"network": classes_conf(), "validationSplit": 0.3, "batchSize": 10, "numWorkers": 2}
    options |= {"weightCol": "w", "classWeights": [1.0, 3.0, 0.5]}
    one = SparkNetworkClassifier(**options, maxIter=9, restoreBestWeights=True)
    model = one.fit(data, {one.patience: 2, one.minDelta: 10.0})  # no epoch improves by so much
    assert len(model.history.epochs) == 3
    net = SparkNetwork(sc, classes_conf(), ParameterAveraging(batch_size_per_worker=10, workers=2))
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    history = net.fit(data, weights="w", validation_split=0.3, class_weight=factors)
    np.testing.assert_array_equal(model.network.state.params, net.network.state.params)
    [epoch], found = history.epochs, model.history.epochs[0]
    assert found.validation.loss == epoch.validation.loss
    assert 8 < found.validation.examples < 28
    assert found.examples == epoch.examples == 60 - found.validation.examples


def test_the_best_weights_are_kept_without_an_early_end(data):
    """Evaluations may outnumber epochs: their number alone must not end the fit."""
    options = {"network": classes_conf(), "validationSplit": 0.3, "validateEvery": 1, **SMALL}
    options |= {"minDelta": 10.0, "restoreBestWeights": True}  # no evaluation improves by so much
    history = SparkNetworkClassifier(**options, maxIter=2).fit(data).history
    assert (len(history.epochs), history.end_reason) == (2, None)
    assert len(history.validations) > 3


def test_a_fit_goes_on_from_a_model(data):
    """As with xgboost's xgb_model: two fits of one epoch equal one fit of two."""
    heard = []
    note = LambdaListener(on_epoch=lambda report, state: heard.append(state.epoch))
    one = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    first, whole = one.fit(data), one.fit(data, {one.maxIter: 2, one.listeners: note})
    second = one.copy({one.network: first.network, one.listeners: [note]}).fit(data)
    assert_equal(second.network.state, whole.network.state)
    assert (first.network.state.epoch, heard) == (1, [1, 2, 2]), "what it began with stays"


def test_splits_are_refused_unless_they_are_shares(data):
    for options, message in [
        ({"validationSplit": 1.0}, "validationSplit must be above 0 and below 1, got 1.0"),
        ({"validationSplit": 0.5, "validationIndicatorCol": "apart"}, "must be left out where"),
        ({"patience": 2}, "monitor must be 'loss' where nothing is evaluated, got 'validation lo"),
    ]:
        with pytest.raises(ConfigError, match=message):
            SparkNetworkClassifier(network=classes_conf(), **options).fit(data)
