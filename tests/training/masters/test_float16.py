"""Every TrainingMaster with a float16 network whose gradients overflow at first."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

from sparkdl.errors import DivergedError
from sparkdl.nn import Adam, Dense, Output
from sparkdl.nn.optimization import loss_scale
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.saving.model_directory import load_model, save_model
from tests.support.cuda.compiler import available
from tests.support.cuda.spawned import OnHost
from tests.training.master_table import MASTERS, WHOLE, by_kind
from tests.training.models import assert_equal
from tests.training.problems import UNEVEN, Partitions, perceptron, whole_net

CONF = whole_net(dtype="float16", optimizer=Adam(learning_rate=0.01))


class Large(Partitions):
    """Data in which the gradients of one record in seven overflow at the first scale."""

    def __init__(self, counts, factor=1000):
        super().__init__(counts)
        self.features[::7] *= factor


def fit(master, workers, conf=CONF, data=None, epochs=3, **options):
    network = Network(conf)
    data = Large(UNEVEN) if data is None else data
    history = network.fit(data, epochs, replace(master, backend="reference"), workers, **options)
    return network, history


def scale_of(state, conf=CONF):
    return float(conf.buffers_layout.views(state.buffers)[loss_scale.SCALE])


@pytest.mark.slow
@pytest.mark.parametrize("name", by_kind(WHOLE))
def test_a_master_leaves_out_what_overflows_and_trains_on(name, crews):
    network, history = fit(MASTERS[name].master, crews(2))
    assert history.skipped == sum(report.skipped for report in history.rounds) > 0
    assert f"{history.skipped} updates left out: gradients in float16" in str(history)
    assert 1 <= scale_of(network.state) < 2.0**16
    assert history.epochs[-1].loss < history.epochs[0].loss
    assert np.isfinite(network.state.params).all()


class OnDevice(Large):
    """Data whose transform installs the backend in the workers."""

    transform = OnHost()


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="no g++ to run the kernels of cuda on the host")
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce", "servers, in step"])
def test_so_does_one_on_a_device(name, crews):
    network, master = Network(CONF), replace(MASTERS[name].master, device="cuda")
    history = network.fit(OnDevice(UNEVEN), 3, master, crews(2))
    assert history.skipped > 0 and 1 <= scale_of(network.state) < 2.0**16
    assert history.epochs[-1].loss < history.epochs[0].loss


class Agreeing(AllReduceSGD, abstract=True):
    def strategy(self, worker):
        return Agree(self, worker)


class Agree(AllReduceWorker):
    def round(self, steps):
        super().round(steps)
        replica = self.worker.replica
        for number in (crc32(replica.params), crc32(replica.slots)):
            assert self.worker.maximum(number) == -self.worker.maximum(-number)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"codec": "Half"}, {"accumulate": 2}], ids=str)
def test_where_one_workers_gradient_overflows_none_updates(options, crews):
    master = Agreeing(updates_per_round=1, batch_size_per_worker=4, sync_epochs=None, **options)
    _, history = fit(master, crews(2))
    assert history.skipped > 0 and history.skipped % 2 == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_gradients_that_are_never_finite_end_the_fit(name, crews):
    """Each weight's gradient exceeds 10^7 at any scale."""
    data = Partitions(UNEVEN)
    data.features[:] = 3e4
    layers = [Dense(units=5), Output(units=3, loss_weight=1000.0)]
    conf = perceptron(dtype="float16", layers=layers)
    with pytest.raises(DivergedError, match="gradients in float16 are not finite, though the loss"):
        fit(MASTERS[name].master, crews(2), conf, data, epochs=5)


@pytest.mark.slow
def test_a_resumed_fit_goes_on_with_its_scale(crews, tmp_path):
    master = MASTERS["all-reduce"].master
    whole, _ = fit(master, crews(2))
    half, _ = fit(master, crews(2), epochs=2, checkpoints=Checkpoints(path=tmp_path))
    assert scale_of(half.state) < 2.0**16
    again, history = fit(master, crews(2), epochs=3, resume=tmp_path)
    assert len(history.epochs) == 1
    assert_equal(again.state, whole.state)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_network_of_narrow_numbers_is_saved_with_wide_vectors(dtype, tmp_path):
    network = Network(replace(CONF, dtype=dtype))
    save_model(tmp_path / "model", network.conf, network.state)
    conf, state, _ = load_model(tmp_path / "model")
    assert conf == network.conf
    assert_equal(state, network.state)
