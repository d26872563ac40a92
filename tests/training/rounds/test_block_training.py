"""Training on long sequences in chunks, and stepwise inference."""

import threading

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.blocks import permutation
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import GRU, LSTM, Adam, Bidirectional, NetworkConf, Output, RnnOutput
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.tbptt import chunks
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network, first_state
from sparkdl.training.rounds.block_training import Round, train_block

STEPS = 10


def network(**options):
    layers = [LSTM(units=6), GRU(units=5), RnnOutput(units=3)]
    defaults = {"input_shape": (STEPS, 3), "layers": layers, "optimizer": Adam(learning_rate=0.02)}
    return NetworkConf(**defaults | options)


def data(rng, n=8, delay=2):
    """Returns random symbols; the label of a step is the symbol `delay` steps earlier."""
    symbols = rng.integers(0, 3, (n, STEPS + delay))
    features = np.eye(3, dtype=np.float32)[symbols[:, delay:]]
    return Batch.of(features, symbols[:, :STEPS])


def trained(conf, block, prefetch=0):
    state = first_state(conf)
    options = {"batch_size": 4, "prefetch": prefetch, "transform": None, "keep_slots": True}
    shared = Round(
        conf=conf, state=state, examples=len(block), device="cpu", backend="reference", **options
    )
    return train_block(shared, 0, block)


@pytest.mark.slow
def test_an_update_follows_each_chunk(rng):
    conf, block = network(tbptt=(4, 4)), data(rng)
    found = trained(conf, block)
    assert (found.updates, found.examples) == (2 * 3, 8)
    replica, total, count = Replica(conf, "reference"), 0.0, 0
    order = permutation(0, 0, 0, n=8)
    for start in (0, 4):
        for chunk, share, states in chunks(conf, block.take(order[start : start + 4])):
            count += 1
            total += share * replica.step(chunk, 0.02, count, states=states)
    assert found.loss == pytest.approx(total)
    np.testing.assert_array_equal(found.vector[: len(replica.params)], replica.params)


def test_an_error_of_a_step_ends_the_thread_that_reads_ahead(rng, monkeypatch):
    block, before = data(rng, n=40), set(threading.enumerate())
    monkeypatch.setattr(Replica, "step", None)
    with pytest.raises(TypeError):
        trained(network(), block, prefetch=1)
    new = set(threading.enumerate()) - before
    assert "sparkdl-prefetch" not in {thread.name for thread in new}


@pytest.mark.slow
def test_what_lies_in_the_chunk_before_is_remembered(crews):
    rng = np.random.default_rng(0)
    net = Network(network(tbptt=(2, 2)))
    records = data(rng, n=64, delay=1)
    first = net.score(records)
    net.fit(records, 12, ParameterAveraging(batch_size_per_worker=16), crews(1))
    assert net.score(records) < 0.35 * first


def test_steps_one_by_one_are_the_steps_together(rng):
    net = Network(network())
    x = rng.normal(size=(3, STEPS, 3)).astype(np.float32)
    whole = net.predict(x)
    for _ in range(2):
        parts = [net.rnn_time_step(x[:, :4]), *(net.rnn_time_step(x[:, t]) for t in range(4, 10))]
        parts[1:] = [part[:, None] for part in parts[1:]]
        np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-5, atol=1e-6)
        net.rnn_clear_previous_state()


def test_a_step_of_an_output_for_the_whole_sequence_has_all_units(rng):
    layers = [LSTM(units=4, return_sequences=False), Output(units=2)]
    net, x = Network(network(layers=layers)), rng.normal(size=(3, 5, 3)).astype(np.float32)
    steps = [net.rnn_time_step(x[:, t]) for t in range(5)]
    assert {y.shape for y in steps} == {(3, 2)}
    np.testing.assert_allclose(steps[-1], net.predict(x), rtol=1e-5)


def test_other_sequences_need_a_cleared_state(rng):
    net = Network(network())
    net.rnn_time_step(np.zeros((2, 3)))
    with pytest.raises(ConfigError, match="the states are those of 2 sequences, got 1"):
        net.rnn_time_step(np.zeros((1, 3)))
    net.rnn_clear_previous_state()
    assert net.rnn_time_step(np.zeros((1, 3))).shape == (1, 3)


def test_refuses_networks_that_carry_nothing():
    for layers, words in (
        ([RnnOutput(units=2)], "no recurrent layer"),
        ([Bidirectional(layer=GRU(units=2)), RnnOutput(units=2)], "from their end"),
    ):
        with pytest.raises(ConfigError, match=words):
            Network(network(layers=layers)).rnn_time_step(np.zeros((1, 3)))


def test_refuses_steps_of_another_width():
    with pytest.raises(ShapeError, match=r"input 'features' needs .*, got \(1, 1, 4\)"):
        Network(network()).rnn_time_step(np.zeros((1, 4)))
