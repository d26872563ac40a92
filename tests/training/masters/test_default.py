"""The default master trains any network."""

import numpy as np
import pytest

from sparkdl import Adam, Dense, EmbeddingBag, GraphBuilder, Network, NetworkConf, Output
from sparkdl.training.masters.default import default_master
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging

WORDS = EmbeddingBag(name="words", dimension=3)


def test_averaging_of_parameters_is_for_networks_without_tables():
    layers = [Dense(units=3), Output(units=2)]
    assert default_master(NetworkConf(input_shape=(4,), layers=layers)) == ParameterAveraging()


@pytest.mark.slow
def test_a_network_with_tables_trains_with_no_options_given():
    build = GraphBuilder()
    build.add(Output(units=2), "words")
    network = Network(build.conf(bags=[WORDS], optimizer=Adam(learning_rate=0.1)))
    ids = np.arange(40).reshape(40, 1) % 7
    network.fit((ids, ids[:, 0] % 2), epochs=20)
    assert network.evaluate((ids, ids[:, 0] % 2)).accuracy == 1
