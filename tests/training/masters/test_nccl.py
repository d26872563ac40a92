"""Every TrainingMaster with GPUs that exchange by NCCL, here with doubles of both."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from tests.support.cuda.nccl_backend import MEETINGS
from tests.support.cuda.on_host import require_compiler
from tests.support.cuda.spawned import OnHost, here
from tests.training import tasks
from tests.training.master_table import MASTERS, RESIDENT, WHOLE
from tests.training.masters.test_cuda import CONF, ROUGH
from tests.training.models import assert_equal
from tests.training.problems import UNEVEN, Partitions
from tests.training.resident.test_supervisor import Harm

MODULE = "tests.support.cuda.nccl_backend"
NAMES = [name for name in RESIDENT if MASTERS[name].same_bits and name in WHOLE]
NAMES = [name for name in NAMES if "servers" not in name]


class OnDevices(Partitions):
    transform = OnHost(MODULE)


class Slowly(OnHost):
    """Slows down rounds while a file exists, so that a fault can hit one."""

    def __init__(self, path):
        super().__init__(MODULE)
        self.slowly = tasks.Slowly(path)

    def __call__(self, batch):
        return self.slowly(batch)

    def __reduce__(self):
        return slowly_here, (self.slowly.path,)


def slowly_here(path):
    here(MODULE)
    return Slowly(path)


@pytest.fixture(scope="module")
def crews(spawned):
    """Workers that each make a GPU of their own when they start."""
    with LocalWorkers(2) as workers:
        yield {2: workers}.__getitem__


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    require_compiler()
    monkeypatch.setitem(base.MODULES, "cuda", MODULE)


@pytest.mark.slow  # each spawned process loads the doubles
@pytest.mark.parametrize("name", NAMES)
def test_a_master_trains_by_nccl_as_over_sockets(name, crews):
    row, states, losses = MASTERS[name], [], []
    for options in ({"device": "cuda", "exchange": "nccl"}, {"backend": "reference"}):
        network = Network(CONF)
        history = network.fit(OnDevices(UNEVEN), 2, replace(row.master, **options), crews(2))
        states.append(network.state)
        losses.append([epoch.loss for epoch in history.epochs])
    limit = ROUGH if row.keeps_back or "1 bit" in name else 1e-4
    np.testing.assert_allclose(*losses, rtol=limit)
    for vector in ("params", "buffers", "slots"):
        found, expected = (getattr(state, vector) for state in states)
        assert np.abs(found - expected).max() <= limit * max(np.abs(expected).max(), 1e-6), vector


@pytest.mark.slow
def test_a_fit_goes_on_when_a_worker_is_killed(crews, monkeypatch, tmp_path):
    """What the others hold on their devices at that time goes into no state."""
    monkeypatch.setenv(MEETINGS, str(tmp_path))
    options = {"device": "cuda", "exchange": "nccl", "timeout": 10.0, "snapshot_every": 1}
    master = replace(MASTERS["all-reduce"].master, **options)
    whole, cut = Network(CONF), Network(CONF)
    whole.fit(OnDevices(UNEVEN), 2, master, crews(2))
    data = OnDevices(UNEVEN)
    with LocalWorkers(2) as workers:
        harm = Harm(workers, rounds=2)
        data.transform = Slowly(harm.brake.name)
        history = cut.fit(data, 2, master, workers, listeners=[harm])
    [restart] = history.restarts
    assert "worker 1" in restart.reason or "rank 1" in restart.reason
    assert_equal(cut.state, whole.state)
