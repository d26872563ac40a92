"""Time per layer of a training step, with a clock that ticks once a call."""

from itertools import count

import pytest

from sparkdl.nn import Adam, Dense, Embedding, NetworkConf, Output, zoo
from sparkdl.nn.execution import timing as module
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.timing import time_step
from tests.nn.example_networks import lenet


@pytest.fixture(autouse=True)
def ticking(monkeypatch):
    """Makes every call last a second and sets the peak to 1000 FLOP/s."""
    ticks = count()
    monkeypatch.setattr("sparkdl.engine.program.perf_counter", lambda: next(ticks))
    monkeypatch.setattr(module, "peak", lambda backend: 1000.0)


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_every_call_is_counted_once(backend):
    timed = time_step(lenet(), 4, backend, repeats=2)
    gradient, update = Replica(lenet(), backend).programs(4)
    assert timed.step.seconds == len(gradient.steps) + len(update.steps)
    assert timed.step.flops == gradient.graph.flops
    assert timed.update.seconds == len(update.steps)


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_layers_hold_their_own_work(backend):
    """conv2d_1 needs no input gradient, so its backward pass has its forward pass's FLOPs."""
    timed = time_step(lenet(), 4, backend, repeats=2)
    names = ["conv2d_1", "maxpool2d_1", "conv2d_2", "maxpool2d_2", "flatten_1", "dense_1"]
    assert list(timed.layers) == [*names, "output_1"]
    flops = {n: (row.forward.flops, row.backward.flops) for n, row in timed.layers.items()}
    first, second = 2 * 4 * 25 * 20 * 24 * 24, 2 * 4 * 25 * 20 * 50 * 8 * 8
    dense = 2 * 4 * 800 * 500
    assert flops["conv2d_1"] == (first, first)
    assert flops["conv2d_2"] == (second, 2 * second)
    assert flops["dense_1"] == (dense, 2 * dense)
    assert flops["maxpool2d_1"] == (0, 0)
    assert timed.layers["maxpool2d_1"].backward.seconds > 0
    assert (timed.loss.forward.flops, timed.loss.backward.flops) == (0, 0)
    assert timed.loss.forward.seconds > 0
    assert timed.loss.backward.seconds > 0


def test_passes_add_up():
    timed = time_step(lenet(), 4, repeats=1)
    parts = timed.forward.seconds + timed.backward.seconds + timed.update.seconds
    assert parts == timed.step.seconds


def test_a_layer_that_looks_up_finds_what_it_is_fed():
    layers = [Embedding(vocabulary_size=5, units=3), Dense(units=4), Output(units=2)]
    conf = NetworkConf(input_shape=(1,), layers=layers, optimizer=Adam())
    assert time_step(conf, 3, repeats=1).layers["dense_1"].forward.flops == 2 * 3 * 3 * 4


def test_layers_of_a_graph():
    conf = zoo.transformer(steps=4, width=8, depth=1, heads=2)
    timed = time_step(conf, 2, repeats=1)
    assert list(timed.layers) == [place.name for place in conf.stack]
    dense = timed.layers["block1/dense/1"]
    assert dense.forward.flops == 2 * (2 * 4) * 8 * 32
    assert dense.backward.flops == 2 * dense.forward.flops
    assert timed.layers["block1/attention/1"].forward.flops > 0
