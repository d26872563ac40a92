"""Use of one network from several threads."""

import pickle
import threading
from copy import deepcopy

import numpy as np
import pytest

from sparkdl.nn import GRU, LSTM, Bidirectional, Conv2D, NetworkConf, Output, RnnOutput
from sparkdl.training.network import Network

NETWORKS = {
    "recurrent": ((9, 5), [LSTM(units=40), RnnOutput(units=3)]),
    "gated": ((9, 5), [GRU(units=40), RnnOutput(units=3)]),
    "both directions": ((9, 5), [Bidirectional(layer=LSTM(units=20)), RnnOutput(units=3)]),
    "convolution": ((3, 16, 16), [Conv2D(filters=8, kernel_size=3), Output(units=3)]),
}


def network_and_batches(name, rng):
    """Returns a network, and (features, prediction) pairs for several batch sizes."""
    shape, layers = NETWORKS[name]
    network = Network(NetworkConf(input_shape=shape, layers=layers, seed=1))
    batches = [rng.normal(size=(n, *shape)).astype(np.float32) for n in (3, 16, 40)]
    return network, [(x, network.predict(x)) for x in batches]


def in_threads(count, function):
    """Calls the function in several threads and raises the first error of any."""
    errors = []

    def run():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_threads_that_use_one_network_get_its_numbers(name):
    network, cases = network_and_batches(name, np.random.default_rng(0))

    def use():
        for _ in range(5):
            for x, wanted in cases:
                np.testing.assert_array_equal(network.predict(x), wanted)

    in_threads(4, use)


@pytest.mark.parametrize("copied", [deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_network_in_use_can_be_copied_and_pickled(copied):
    network, cases = network_and_batches("recurrent", np.random.default_rng(0))
    other = copied(network)
    for x, wanted in cases:
        np.testing.assert_array_equal(other.predict(x), wanted)
