"""Models with equal confs in one process predict with their own weights, in any order."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.nn import NetworkConf, Output
from sparkdl.spark.inference.functions import batch_function
from sparkdl.spark.inference.model_in_use import ModelInUse
from sparkdl.spark.inference.predictions import (
    evaluate_partition,
    feature_batches,
    layer_columns,
    predict_batches,
)
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network, first_state
from sparkdl.training.rounds.replica import (
    closing_training,
    kept_replica,
    replica_for,
    second_replica,
)
from sparkdl.training.transfer import carry_weights

CONF = NetworkConf(input_shape=(2,), layers=[Output(units=2, loss="mse")], seed=1)
OUTPUT = CONF.output.name
ON = ("cpu", "reference")
X = np.random.default_rng(3).normal(size=(6, 2)).astype(np.float32)
STATE = Network(CONF).state.without_slots()
FACTORS = (1, -3, 5)  # of the params
SHARED = [LocalValue((CONF, replace(STATE, params=STATE.params * f), *ON)) for f in FACTORS]


@pytest.fixture(autouse=True)
def no_replicas():
    kept_replica.cache_clear(), second_replica.cache_clear()


def expected(number, x=X):
    weights = CONF.params_layout.views(SHARED[number].value[1].params)
    w, b = (next(a for a in weights.values() if a.ndim == ndim) for ndim in (2, 1))
    return x @ w + b


def batch_of(x):
    return Batch.of(np.array(x), np.zeros((len(x), 2), np.float32))


def assert_is(number, found, x=X):
    np.testing.assert_allclose(found, expected(number, x), rtol=1e-5, atol=1e-6)


def predict(number, batches):
    return predict_batches(SHARED[number], OUTPUT, None, batches)


def features(number, batches):
    return (row[OUTPUT] for row in feature_batches(SHARED[number], [OUTPUT], None, batches))


def columns(number, batches):
    return (
        row
        for each in layer_columns([OUTPUT], SHARED[number], None, batches)
        for row in each[OUTPUT]
    )


@pytest.mark.parametrize("way", [predict, features, columns])
@pytest.mark.parametrize("numbers", [(0, 1), (1, 0), (0, 1, 2), (2, 0, 1, 0)])
def test_one_predicts_from_what_another_predicts(way, numbers):
    """Records pass one by one, as in chained RDDs of one stage."""
    rows, x = iter(X), X
    for number in numbers:
        rows, x = way(number, (batch_of([row]) for row in rows)), expected(number, x)
    np.testing.assert_allclose(list(rows), x, rtol=1e-4, atol=1e-5)


def test_an_evaluation_of_what_another_predicts():
    batches = (Batch.of(row[None], row[None]) for row in predict(0, [batch_of(X)]))
    [(_, found)] = evaluate_partition(SHARED[1], Evaluator(CONF), 0, batches)
    first = expected(0)
    losses = ((expected(1, first) - first) ** 2).mean()
    assert found.loss == pytest.approx(losses, rel=1e-4)


def test_functions_that_spark_keeps():
    """Spark makes each function once and calls them in any order; training uses the replica too."""
    make = partial(batch_function, schema=schema_of(CONF, labels=False), transform=None)
    functions = [make(shared, layer=OUTPUT)() for shared in SHARED]
    for number in (0, 1, 2, 0, 2, 1, 1, 0):
        assert_is(number, functions[number](X))
    trained = replica_for(CONF, *ON)
    with closing_training(trained):
        trained.load(STATE.params * 7, STATE.buffers, STATE.slots)
        for number in range(3):
            assert_is(number, functions[number](X))
        new = make(SHARED[1], layer=OUTPUT)()  # such as a teacher in a transform
        assert_is(1, new(X))
        np.testing.assert_array_equal(trained.params, STATE.params * 7)
    for number in range(3):
        assert_is(number, functions[number](X))


def held_by(model):
    return model._replica


def test_a_process_has_a_replica_for_each_of_two_models_and_no_more():
    one, again, other, third = (ModelInUse(*SHARED[i].value) for i in (0, 0, 1, 2))
    assert held_by(one) is held_by(again) is kept_replica(CONF, *ON)
    assert held_by(other) is held_by(third) is not held_by(one)


def test_models_that_come_one_after_the_other_have_one_replica():
    for number in range(3):
        model = ModelInUse(*SHARED[number].value)
        assert held_by(model) is kept_replica(CONF, *ON)
        assert_is(number, model.forward(X)[OUTPUT])
        del model


def test_its_weights_may_be_carried_into_another_network():
    """As test nets of Caffe do, even after the replica has computed for another model."""
    first, second = (ModelInUse(*SHARED[i].value) for i in (0, 1))
    second.forward(X)
    carried = carry_weights(CONF, first, CONF, first_state(CONF))
    np.testing.assert_array_equal(carried.params, SHARED[0].value[1].params)
    np.testing.assert_array_equal(carried.buffers, SHARED[0].value[1].buffers)
    assert first.backend is held_by(first).backend


def test_a_model_is_loaded_once(monkeypatch):
    model = ModelInUse(*SHARED[0].value)
    monkeypatch.setattr(held_by(model), "load", None)
    for _ in range(3):
        assert_is(0, model.forward(X)[OUTPUT])
