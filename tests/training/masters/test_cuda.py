"""Every TrainingMaster with replicas on a device, here the host's double."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.nn import BatchNorm, Dense, Dropout, Momentum, Output
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from tests.support.cuda.on_host import use_host
from tests.support.cuda.spawned import OnHost
from tests.training.master_table import MASTERS, WHOLE
from tests.training.problems import UNEVEN, Partitions, perceptron

# With buffers and random numbers; no bias precedes a BatchNorm, since its gradient is rounding
# error, which 1-bit codecs turn into steps.
LAYERS = [BatchNorm(), Dense(units=5, activation="tanh"), Dropout(rate=0.3), Output(units=3)]
CONF = perceptron(layers=LAYERS, optimizer=Momentum(learning_rate=0.1))
ROUGH = 0.02  # because a codec's threshold may fall to the other side


class OnDevice(Partitions):
    """Data whose transform installs the backend in the workers."""

    transform = OnHost()


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    use_host(monkeypatch)


APART = [name for name, row in MASTERS.items() if not row.same_bits]


QUICK = {"averaging by the driver", "all-reduce", "servers, in step"}  # half a second each
ROWS = [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in WHOLE]


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_master_trains_on_a_device_as_without(name, crews):
    """One worker is used if several give no repeatable result."""
    row, states, losses = MASTERS[name], [], []
    master, size = (row.master, 2) if row.same_bits else (without_backup(row.master), 1)
    for place in ({"device": "cuda"}, {"device": "cpu", "backend": "reference"}):
        network = Network(CONF)
        history = network.fit(OnDevice(UNEVEN), 2, replace(master, **place), crews(size))
        where = "the host (GPU-0)" if place["device"] == "cuda" else "the processor"
        assert history.rounds[-1].devices.keys() == {where}
        states.append(network.state)
        losses.append([epoch.loss for epoch in history.epochs])
    limit = ROUGH if row.keeps_back or "1 bit" in name else 1e-4
    np.testing.assert_allclose(*losses, rtol=limit)
    for vector in ("params", "buffers", "slots"):
        found, expected = (getattr(state, vector) for state in states)
        assert np.abs(found - expected).max() <= limit * max(np.abs(expected).max(), 1e-6), vector


def without_backup(master):
    """Returns the master for a single worker, which has no backup."""
    return replace(master, backup=0) if isinstance(master, ParameterServer) else master


@pytest.mark.slow
@pytest.mark.parametrize("name", APART)
def test_several_workers_train_on_a_device_each_in_their_own_time(name, crews):
    network = Network(perceptron(optimizer=Momentum(learning_rate=0.1)))
    master = replace(MASTERS[name].master, device="cuda")
    history = network.fit(OnDevice(UNEVEN), 12, master, crews(2))
    losses = [epoch.loss for epoch in history.epochs]  # with late gradients, they go up and down
    assert np.mean(losses[-4:]) < 0.8 * losses[0]
    assert history.rounds[-1].devices == {"the host (GPU-0)": 2}
