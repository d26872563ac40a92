"""Evaluations of models have the names that a StringIndexer found, and the weights of rows."""

import numpy as np
import pytest
from pyspark.ml.evaluation import (
    BinaryClassificationEvaluator,
    MulticlassClassificationEvaluator,
)
from sklearn import metrics

from sparkdl.ml import SparkNetworkRegressor
from sparkdl.ml.evaluation import with_names
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.evaluation import evaluation_for
from tests.ml.conftest import SMALL
from tests.ml.frames import by_id, values_conf

THREE, SOFTMAX = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], {"units": 3}
YES, SIGMOID = [[0.8], [0.3]], {"units": 1, "loss": "sigmoid_cross_entropy"}
NAMES = {
    # output options, predictions, class names, displayed names
    "classes": (SOFTMAX, THREE, ("ant", "bee", "cow"), ("ant", "bee", "cow")),
    "too few names": (SOFTMAX, THREE, ("ant", "bee"), ("0", "1", "2")),
    "no names": (SOFTMAX, THREE, None, ("0", "1", "2")),
    "yes or no": (SIGMOID, YES, ("benign", "malignant"), ("malignant",)),
    "yes or no of three": (SIGMOID, YES, ("a", "b", "c"), ("0",)),
    "numbers": ({"units": 1, "loss": "mse"}, YES, ("a", "b"), ("0",)),
}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_have_the_names_of_their_classes(name):
    options, predictions, labels, shown = NAMES[name]
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2), Output(**options)])
    plain = evaluation_for(conf.loss, conf.output_size).add(np.array(predictions), np.array([1, 0]))
    named = with_names(plain, conf.main, labels)
    assert named.labels == shown
    assert named.figures() == plain.figures() and named.examples == 2
    assert all(label in str(named) for label in shown)


def classes_of(model, indexed):
    """Returns true classes, probabilities and weights, in the order of `id`."""
    return by_id(model.transform(indexed), "index", "probability", "w")


def test_weights_count_in_all_figures_as_in_scikit_learn(classified, indexed):
    truth, p, w = classes_of(classified, indexed)
    found, weighted = classified.evaluate(indexed), {"sample_weight": w}
    right = metrics.accuracy_score(truth, p.argmax(axis=1), **weighted)
    loss = metrics.log_loss(truth, p / p.sum(axis=1, keepdims=True), **weighted)
    areas = [metrics.roc_auc_score(truth == k, p[:, k], **weighted) for k in range(3)]
    assert found.figures()["accuracy"] == pytest.approx(right)
    assert found.loss == pytest.approx(loss * w.mean(), rel=1e-5)
    assert found.auc() == pytest.approx(np.mean(areas))
    assert (found.examples, found.weight) == (len(w), w.sum())
    assert found.labels == classified.labels


def test_weights_count_as_in_the_evaluators_of_pyspark(classified, answered, estimated, indexed):
    given = {"labelCol": "index", "weightCol": "w", "metricName": "accuracy"}
    expected = MulticlassClassificationEvaluator(**given).evaluate(classified.transform(indexed))
    assert classified.evaluate(indexed).accuracy == pytest.approx(expected)
    area = BinaryClassificationEvaluator(labelCol="yes", weightCol="w", numBins=0)
    found = answered.copy({answered.weightCol: "w"}).evaluate(indexed)
    assert found.auc() == pytest.approx(area.evaluate(answered.transform(indexed)))
    unweighted = answered.evaluate(indexed)
    assert unweighted.weight == unweighted.examples


def test_weights_count_in_the_classes_of_thresholds(classified, indexed):
    model = classified.copy({classified.thresholds: [0.9, 0.05, 0.5]})
    given = {"labelCol": "index", "weightCol": "w", "metricName": "accuracy"}
    expected = MulticlassClassificationEvaluator(**given).evaluate(model.transform(indexed))
    found = model.evaluate(indexed)
    assert found.accuracy == pytest.approx(expected)
    assert found.loss == pytest.approx(classified.evaluate(indexed).loss)


def test_weights_count_in_errors_of_values(data):
    one = SparkNetworkRegressor(network=values_conf(), labelCol="label", weightCol="w", **SMALL)
    model = one.fit(data)
    y, truth, w = by_id(model.transform(data), "prediction", "label", "w")
    found = model.evaluate(data)
    assert found.mse == pytest.approx(metrics.mean_squared_error(truth, y, sample_weight=w))


def test_rows_without_the_column_and_models_without_its_name_have_no_weights(classified, indexed):
    expected = classified.copy({classified.weightCol: ""}).evaluate(indexed).figures()
    assert classified.evaluate(indexed.drop("w")).figures() == expected
    assert classified.evaluate(indexed).figures() != expected
