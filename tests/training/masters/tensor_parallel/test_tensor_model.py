"""Inputs of the cost model for a network with divided layers."""

import pytest

from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.masters.tensor_parallel.tensor_model import tensor_model, tensor_models

CONF = NetworkConf(
    input_shape=(10,), layers=[Dense(units=20), Dense(units=30), Dense(units=5), Output(units=6)]
)


def test_what_travels_and_what_workers_hold():
    """Layers by columns, by rows, whole, and by classes, which return a gradient for 5 inputs."""
    model = tensor_model(CONF, 2, batch_size=8)
    assert model.summed == (8 * 30 * 4, 8 * 4, 8 * 3 * 4, 8 * 5 * 4)
    assert model.gathered == () and model.inputs == 8 * (10 + 1) * 4
    kept = (10 * 20 + 20) / 2 + 20 * 30 / 2 + 30 + 30 * 5 + 5 + (5 * 6 + 6) / 2
    assert model.nbytes * model.kept == pytest.approx(4 * kept)
    assert 0.5 < model.divided < 1


def test_all_degrees_that_divide_the_workers_and_a_layer():
    assert [model.degree for model in tensor_models(CONF, 12, 8)] == [2, 3, 4, 6]
    assert tensor_models(CONF, 1, 8) == []
    assert tensor_models(CONF, 7, 8) == []
