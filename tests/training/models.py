"""A small network with all kinds of state, and states of it."""

import numpy as np

from sparkdl.nn import BatchNorm, Dense, Nesterov, NetworkConf, Output
from sparkdl.training.network import Network
from sparkdl.training.saving.state import TrainState


def small_conf(units=3):
    layers = [Dense(units=units), BatchNorm(), Output(units=2)]
    return NetworkConf(
        input_shape=(4,), optimizer=Nesterov(learning_rate=0.1), seed=5, layers=layers
    )


def state_of(conf, seed=0, **counters):
    """Returns a state of `conf` with random vectors."""
    rng = np.random.default_rng(seed)
    layouts = {"params": conf.params_layout, "buffers": conf.buffers_layout}
    layouts["slots"] = conf.slots_layout
    vectors = {n: rng.normal(size=x.size).astype(np.float32) for n, x in layouts.items()}
    return TrainState(**vectors, seed=seed, **counters)


def assert_equal(one, other):
    """Asserts that two states are equal bit for bit."""
    assert one.counters == other.counters
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("params", "buffers", "slots")]
    assert one.master_state.keys() == other.master_state.keys()
    pairs += [(vector, other.master_state[name]) for name, vector in one.master_state.items()]
    assert [own.keys() for own in one.worker_states] == [own.keys() for own in other.worker_states]
    pairs += [
        (x, b[name])
        for a, b in zip(one.worker_states, other.worker_states)
        for name, x in a.items()
    ]
    for x, y in pairs:
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def params_of_two_processes(conf, batch, count):
    """Returns the parameters after `count` steps; another replica takes over in the middle."""
    one, other = Network(conf).replica, Network(conf).replica
    for t in range(1, count + 1):
        if t == (count + 1) // 2:
            other.load(one.params, one.buffers, one.slots)
            one = other
        one.step(batch, conf.rate_at(t - 1, 0), t)
    return one.params
