"""Averages by the workers themselves match numpy; few buffers share one exchange with the rest."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.nn import Momentum
from sparkdl.training.masters.parameter_averaging import worker as module
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_averaging.worker import ParameterAveragingWorker
from tests.training.models import state_of
from tests.training.problems import whole_net
from tests.training.resident.test_buffer_mean import Sums

CONF = whole_net(optimizer=Momentum(learning_rate=0.1))
EXAMPLES = [3, 0, 2]


def averaged():
    """Returns (states before the mean, workers after it, lengths of the messages)."""
    group, states = Sums(3), [state_of(CONF, seed) for seed in (1, 2, 3)]
    start = states[1].buffers  # the worker without examples has not changed its buffers
    for state in states:
        state.buffers[0] = start[0] = np.inf
    workers = [
        SimpleNamespace(
            replica=SimpleNamespace(
                params=s.params.copy(), buffers=s.buffers.copy(), slots=s.slots.copy()
            ),
            start_buffers=start.copy(),
            **{"conf": CONF, "group": group, "size": 3, "exchanging": nullcontext},
        )
        for s in states
    ]
    master = ParameterAveraging(aggregation="peers")
    strategies = [ParameterAveragingWorker(master, worker) for worker in workers]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(ParameterAveragingWorker._average, strategies, EXAMPLES))
    return states, workers, group.lengths


@pytest.mark.parametrize("few, exchanges", [(99, 1), (0, 2)])
def test_few_buffers_are_averaged_in_the_same_exchange(few, exchanges, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    states, workers, lengths = averaged()
    assert len(lengths) == exchanges
    for name in ("params", "slots", "buffers"):
        vectors = np.float64([getattr(state, name) for state in states])
        with np.errstate(invalid="ignore"):
            expected = np.average(vectors[[0, 2]], axis=0, weights=[3, 2])
        for worker in workers:
            found = getattr(worker.replica, name)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for worker in workers:
        np.testing.assert_array_equal(worker.start_buffers, worker.replica.buffers)
        assert worker.replica.buffers[0] == np.inf


def test_both_ways_give_the_same_numbers(monkeypatch):
    _, few, _ = averaged()
    monkeypatch.setattr(module, "FEW", 0)
    _, many, _ = averaged()
    for one, other in zip(few, many, strict=True):
        assert one.replica.buffers.tobytes() == other.replica.buffers.tobytes()
