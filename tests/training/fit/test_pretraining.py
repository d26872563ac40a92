"""Unsupervised pretraining of layers before the network is trained."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Adam, AutoEncoder, BatchNorm, Dense, Output, VariationalAutoencoder
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.training.problems import Partitions, perceptron

MASTER = ParameterAveraging(batch_size_per_worker=16, averaging_frequency=2)


def deep():
    layers = [
        Dense(units=6, activation="sigmoid", name="first"),
        BatchNorm(name="norm"),
        VariationalAutoencoder(
            units=3, encoder=(5,), decoder=(5,), distribution="gaussian", name="causes"
        ),
        AutoEncoder(units=2, activation="tanh", loss="mse", name="code"),
        Output(units=3, name="out"),
    ]
    return Network(perceptron(layers=layers, optimizer=Adam(learning_rate=0.02), activation="tanh"))


@pytest.fixture(scope="module")
def trained(crews):
    network = deep()
    before = network.state
    options = {"epochs": 6, "master": MASTER, "workers": crews(2)}
    histories = network.pretrain(Partitions([60, 40]), **options)
    return network, before, histories


@pytest.mark.slow
def test_each_layer_learns_in_its_turn(trained):
    _, _, histories = trained
    assert list(histories) == ["causes", "code"]
    for history in histories.values():
        losses = [row.loss for row in history.rounds]
        assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_nothing_else_moves(trained):
    network, before, _ = trained
    layout = network.conf.params_layout
    old, new = layout.views(before.params), layout.views(network.state.params)
    moved = {name for name in new if not np.array_equal(old[name], new[name])}
    assert moved == {name for name in new if name.startswith(("causes/", "code/"))}
    np.testing.assert_array_equal(network.state.buffers, before.buffers)
    assert network.state.rounds == before.rounds


def test_the_network_goes_on_from_there(trained, crews):
    network = Network(trained[0].conf, trained[0].state)
    network.fit(Partitions([60, 40]), 2, MASTER, crews(2))
    assert network.predict(np.zeros((2, 4), np.float32)).shape == (2, 3)


def test_what_workers_keep_beside_the_old_weights_is_dropped(crews):
    network, data = deep(), Partitions([60, 40])
    elastic = ElasticAveraging(batch_size_per_worker=16)
    network.fit(data, 1, elastic, crews(2))
    assert network.state.worker_states
    network.pretrain(data, "code", master=MASTER, workers=crews(2))
    assert not network.state.worker_states


def test_one_layer_by_name(crews):
    network = deep()
    options = {"master": MASTER, "workers": crews(2)}
    assert list(network.pretrain(Partitions([20]), "code", **options)) == ["code"]


def test_a_network_without_such_layers_is_refused():
    with pytest.raises(ConfigError, match="no layer of the network learns without labels"):
        Network(perceptron()).pretrain(Partitions([20]))
