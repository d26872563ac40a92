"""Full-batch training, on all examples at once."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import BatchNorm, Dense, Dropout, Output
from sparkdl.nn.solvers import ConjugateGradient, Lbfgs
from sparkdl.training.evaluation.batch_evaluation import BATCH
from sparkdl.training.fit.full_batch import FullBatch
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.network import Network
from tests.training.problems import Partitions, perceptron, softmax_net

N = BATCH + 50  # two batches of different sizes


@pytest.fixture(scope="module")
def data():
    source = Partitions([N])
    return source.features, source.labels


@pytest.mark.parametrize("solver", [None, ConjugateGradient(tolerance=1e-5)], ids=str)
def test_a_linear_network_ends_where_scikit_learn_ends(solver, data):
    network = Network(softmax_net(l2=0.02))
    solution = network.fit_full_batch(data, solver)
    theirs = LogisticRegression(C=1 / (0.02 * N), tol=1e-8).fit(*data)
    params = network.conf.params_layout.views(network.state.params)
    np.testing.assert_allclose(params["output_1/W"].T, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(network.predict(data[0]), theirs.predict_proba(data[0]), atol=1e-3)
    value = network.score(data) + 0.01 * (theirs.coef_**2).sum()
    assert value == pytest.approx(solution.value, rel=1e-4)


def test_the_gradient_is_that_of_the_value(data, rng):
    layers = [Dense(units=5, activation="tanh"), Dropout(rate=0.3), Output(units=3)]
    network = Network(perceptron(layers=layers, l1=0.01, l2=0.1))
    batches = list(network._batches(Partitions([N]), labels=True))
    objective = FullBatch(network._load(), batches)
    x, along = network.state.params.astype(float), rng.normal(size=network.conf.parameter_count)
    _, grad = objective(x)
    h = 1e-3
    slope = (objective(x + h * along)[0] - objective(x - h * along)[0]) / (2 * h)
    assert grad @ along == pytest.approx(slope, rel=2e-3)


def test_buffers_move_too(data):
    layers = [Dense(units=5), BatchNorm(), Output(units=3)]
    network = Network(perceptron(layers=layers))
    before = network.score(data)
    network.fit_full_batch(data, Lbfgs(iterations=5))
    assert network.state.buffers[:5].any()
    assert network.score(data) < before


@pytest.mark.slow
def test_a_fit_goes_on_from_the_solution_and_not_from_its_workers_own_weights(crews):
    network, source = Network(softmax_net(l2=0.02)), Partitions([40, 40])
    master = ElasticAveraging(batch_size_per_worker=8, tau=1)
    network.fit(source, 1, master, crews(2))
    assert network.state.worker_states
    network.fit_full_batch((source.features, source.labels))
    params = network.state.params
    other = Network(network.conf, replace(network.state, worker_states=()))
    for one in (network, other):
        one.fit(source, 1, master, crews(2))
    np.testing.assert_array_equal(network.state.params, other.state.params)
    assert abs(network.state.params - params).max() < 0.1


def test_frozen_layers_stay(data):
    layers = [Dense(units=5, rate_factor=0), Output(units=3)]
    network = Network(perceptron(layers=layers, l2=0.1))
    before = network.state.params
    network.fit_full_batch(data, Lbfgs(iterations=5))
    part = network.conf.params_layout.split_by_layer["dense_1"]
    np.testing.assert_array_equal(network.state.params[part], before[part])
    assert (network.state.params[part.stop :] != before[part.stop :]).all()


def test_constraints_are_refused(data):
    network = Network(softmax_net(constraints=["unit_norm"]))
    with pytest.raises(ConfigError, match="solvers support no constraints"):
        network.fit_full_batch(data)


def test_no_examples_are_refused():
    with pytest.raises(DataError, match="there are no records to train on"):
        Network(softmax_net()).fit_full_batch(Partitions([0]))
