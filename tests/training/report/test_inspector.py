"""An Inspector's figures of a softmax regression match numpy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.report.inspector import Inspector
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.inspection import ArrayFigures
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.reports import Restart
from sparkdl.training.workers.local import LocalWorkers
from tests.training.report.fits import network
from tests.training.reports import plan

RATE, CLASSES = 0.1, ("ant", "bee", "cow")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 4)).astype(np.float32)
Y = np.argmax(X[:, :3] + RNG.normal(size=(96, 3)), axis=1).astype(np.int32)
CONF = NetworkConf(
    input_shape=(4,), layers=[Output(units=3)], optimizer=Sgd(learning_rate=RATE), seed=1
)


@pytest.fixture(scope="module")
def workers():
    with LocalWorkers(2) as made:
        yield made


def fit(workers, inspector, *others, master=None, epochs=2):
    net = Network(CONF)
    master = master or ParameterAveraging(batch_size_per_worker=8, averaging_frequency=2)
    net.fit((X, Y), epochs, master, workers, listeners=[inspector, *others])
    return net


@pytest.fixture(scope="module")
def seen(workers):
    """Returns (network after a fit, its Inspection)."""
    net = fit(workers, Inspector((X, Y), batch_size=32, wrong=5, labels=CLASSES))
    return net, net.history.inspection


def probabilities(net):
    weights, bias = net.conf.params_layout.views(net.state.params).values()
    z = X.astype(float) @ weights + bias
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_figures_are_those_by_hand(seen):
    net, inspection = seen
    error = (probabilities(net) - np.eye(3)[Y])[:32]
    gradients = {"output_1/W": X[:32].T @ error / 32, "output_1/b": error.mean(axis=0)}
    views = net.conf.params_layout.views(net.state.params)
    last = inspection.layers[-1]
    assert list(last.arrays) == list(views) and last.dead == {}
    for name, gradient in gradients.items():
        expected = np.abs(views[name]).mean(), np.abs(gradient).mean()
        expected = ArrayFigures(*expected, RATE * expected[1])
        np.testing.assert_allclose(last.arrays[name], expected, rtol=1e-3)
        assert last.arrays[name].ratio == pytest.approx(expected.ratio, abs=1e-3)
        [histogram] = [one for one in inspection.gradients if one["name"] == name]
        assert sum(histogram["counts"]) == gradient.size
        assert histogram["mean"] == pytest.approx(gradient.mean(), rel=1e-3, abs=1e-6)


def test_there_is_one_after_each_epoch(seen):
    net, inspection = seen
    ends = [max(r.iteration for r in net.history.rounds if r.epoch == n) for n in range(2)]
    assert [report.iteration for report in inspection.layers] == ends
    assert [report.epoch for report in inspection.layers] == [0, 1]
    assert (inspection.examples, inspection.batch_size) == (96, 32)
    assert [cost.name for cost in inspection.costs] == ["output_1", "loss", "update"]


def test_the_most_wrong_are_those_with_the_largest_losses(seen):
    net, inspection = seen
    p = probabilities(net)
    losses = -np.log(p[np.arange(96), Y])
    worst = np.argsort(-losses)[:5]
    assert [one.number for one in inspection.wrong] == worst.tolist()
    np.testing.assert_allclose([one.loss for one in inspection.wrong], losses[worst], rtol=1e-4)
    for one in inspection.wrong:
        said = p[one.number].argmax()
        assert one.truth == CLASSES[Y[one.number]]
        assert one.prediction == f"{CLASSES[said]} ({np.float32(p[one.number, said]):.3g})"
        assert one.text == ", ".join(f"{value:.4g}" for value in X[one.number].tolist())


def test_it_changes_nothing_of_the_fit(seen, workers):
    net, _ = seen
    other = Network(CONF)
    other.fit(
        (X, Y), 2, ParameterAveraging(batch_size_per_worker=8, averaging_frequency=2), workers
    )
    np.testing.assert_array_equal(net.state.params, other.state.params)


@pytest.mark.slow
@pytest.mark.parametrize(
    "master",
    [
        ParameterAveraging(batch_size_per_worker=8, averaging_frequency=2, aggregation="driver"),
        AllReduceSGD(batch_size_per_worker=8),
    ],
)
def test_every_so_many_updates_whoever_has_the_state(master, workers):
    states = {}
    keep = LambdaListener(
        on_round=lambda _, state: state and states.update({state.iteration: state})
    )
    net = fit(workers, Inspector(Batch.of(X, Y), every=4), keep, master=master)
    reports = net.history.inspection.layers
    assert [report.iteration for report in reports] == [4, 8, 12]
    for report in reports:
        array = net.conf.params_layout.views(states[report.iteration].params)["output_1/W"]
        assert report.arrays["output_1/W"].parameter == pytest.approx(
            np.abs(array).mean(), rel=1e-4
        )


def test_rounds_that_are_done_again_are_inspected_again():
    inspector, state = Inspector((X, Y % 3), every=5), network().state
    planned = plan(conf=network().conf, history=History())
    inspector.on_fit_start(planned)
    for iteration in (5, 10):
        inspector.on_round(None, replace(state, iteration=iteration))
    inspector.on_restart(Restart(epoch=0, round=0, lost=2, workers=1, reason="killed"))
    inspector.on_round(None, replace(state, iteration=5))
    assert [one.iteration for one in planned.history.inspection.layers] == [5]


def test_weights_that_are_not_finite_have_figures_all_the_same():
    net = network()
    net.conf.params_layout.views(net.state.params)["output_1/b"][:] = np.nan
    inspector, planned = Inspector((X, Y)), plan(conf=net.conf, history=History())
    inspector.on_fit_start(planned)
    inspector.on_epoch(None, net.state)
    inspector.on_fit_end(planned.history)
    [report] = planned.history.inspection.layers
    assert math.isnan(report.arrays["output_1/b"].parameter)
    assert report.arrays["output_1/b"].ratio is None
    assert len(planned.history.inspection.wrong) == 12


@pytest.mark.parametrize(
    "options, message",
    [
        ({"every": 0}, r"Inspector.every must be an integer >= 1 or None, got 0"),
        ({"batch_size": 0}, r"Inspector.batch_size must be an integer >= 1, got 0"),
        ({"wrong": 51}, r"Inspector.wrong must be an integer in \[0, 50\], got 51"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ConfigError, match=message):
        Inspector((X, Y), **options)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"labels": ["a"]}, ConfigError, "Inspector.labels must be at least 3 texts"),
        ({"texts": ["a"]}, ConfigError, "Inspector.texts must be at least 96 texts"),
        ({"sample": (X[:0], Y[:0])}, DataError, "Inspector.sample must have records, got none"),
        ({"sample": (X[:, :2], Y)}, DataError, "features"),
    ],
)
def test_what_does_not_fit_the_network_ends_the_fit_before_it_begins(options, error, message):
    inspector = Inspector(**{"sample": (X, Y)} | options)
    with pytest.raises(error, match=message):
        inspector.on_fit_start(plan(conf=CONF, history=History()))


def test_it_inspects_dead_units_of_rectifiers():
    conf = NetworkConf(
        input_shape=(4,), layers=[Dense(units=5, activation="relu"), Output(units=3)]
    )
    net = Network(conf)
    net.conf.params_layout.views(net.state.params)["dense_1/b"][:] = [-99, 9, 9, -99, 9]
    inspector, planned = Inspector((X, Y)), plan(conf=conf, history=History())
    inspector.on_fit_start(planned)
    inspector.on_epoch(None, net.state)
    assert planned.history.inspection.layers[0].dead == {"dense_1": (2, 5)}
