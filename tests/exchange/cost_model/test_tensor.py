"""The cost model of divided layers matches figures worked out by hand."""

from dataclasses import replace

import pytest

from sparkdl.exchange.cost_model.tensor import TensorModel
from tests.exchange.cost_model.test_pipeline import MB, cluster

EVEN = TensorModel(
    degree=2, divided=1.0, summed=(), gathered=(), inputs=0.0, nbytes=8 * MB, kept=0.5
)
GATHER = 2e-5 / 2  # one message, which gathers the minibatch


def test_what_is_divided_takes_each_as_long_as_its_own_minibatch():
    found = EVEN.exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(GATHER) and found.sent == 0


def test_what_is_not_divided_each_computes_for_both():
    found = replace(EVEN, divided=0.75).exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(0.25 * 0.8 + GATHER)


def test_half_of_the_parameters_are_moved_in_half_the_time():
    found = replace(EVEN, least=0.2).exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(-0.1 + GATHER)


def test_activations_of_both_minibatches_travel():
    """A sum of 2 x 1 MB: each sends 2 MB; a gather of 2 x 1 MB: each sends 1 MB."""
    found = replace(EVEN, summed=(MB,), inputs=MB).exchange(cluster(bandwidth=1e8), compute=0.8)
    assert found.seconds == pytest.approx(0.02 + 0.01, rel=2e-3)
    assert found.sent == 3 * MB


def test_networks_sum_the_gradients_of_their_parts():
    one = EVEN.exchange(cluster(bandwidth=1e8), compute=0.8)
    two = EVEN.exchange(cluster(workers=4, bandwidth=1e8), compute=0.8)
    summed = cluster(bandwidth=1e8).all_reduce(4 * MB)
    assert two.seconds == pytest.approx(one.seconds + summed.seconds)
    assert two.sent == summed.sent
