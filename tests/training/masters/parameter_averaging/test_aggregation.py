"""The default aggregation: peers average if they can, otherwise the driver does."""

import multiprocessing
from dataclasses import replace

import pytest

from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.connections.tls import Tls
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints, load_checkpoint
from sparkdl.training.workers.main_script import WORKER
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron

AUTO = ParameterAveraging(batch_size_per_worker=4, averaging_frequency=2, timeout=20.0)
DATA = [41]


def fit(workers, master=AUTO, epochs=2, **options):
    network = Network(perceptron())
    history = network.fit(Partitions(DATA), epochs, master, workers, **options)
    return network.state, history


def by(aggregation, master=AUTO):
    return replace(master, aggregation=aggregation)


def test_it_is_the_default_and_others_have_none():
    assert ParameterAveraging().aggregation == "auto"
    master = AllReduceSGD()
    assert master.resolve(None, {}) == (master, None, None)
    assert by("driver").resolve(None, {}) == (by("driver"), None, None)


@pytest.mark.slow
def test_peers_average_where_all_run_at_once(crews):
    state, history = fit(crews(2))
    assert_equal(state, fit(crews(2), by("peers"))[0])
    assert history.aggregation == "averaged by peers: all 2 workers run at once"
    assert history.aggregation in str(history)
    assert fit(crews(2), by("peers"))[1].aggregation is None


def test_the_driver_averages_where_they_do_not(crews, monkeypatch):
    monkeypatch.setattr(crews(2), "obstacle", lambda: "2 workers, 1 slot")
    state, history = fit(crews(2))
    assert history.aggregation == "averaged by the driver: 2 workers, 1 slot"
    monkeypatch.undo()
    assert_equal(state, fit(crews(2), by("driver"))[0])


@pytest.mark.parametrize("way", ["driver", "peers"])
def test_a_fit_goes_on_as_its_checkpoint_says(way, crews, tmp_path):
    fit(crews(2), by(way), epochs=1, checkpoints=Checkpoints(path=str(tmp_path)))
    state, history = fit(crews(2), resume=str(tmp_path))
    names = {"driver": "the driver", "peers": "peers"}
    assert history.aggregation == f"averaged by {names[way]}: as the checkpoint has it"
    whole = fit(crews(2), by(way), resume=str(tmp_path))[0]
    assert_equal(state, whole)


SECURED = [({"tls": Tls()}, "tls must be None"), ({"integrity": True}, "integrity must be False")]


@pytest.mark.parametrize("options, text", SECURED, ids=["TLS", "checksums"])
@pytest.mark.parametrize("obstacle, extra", [("no room", {}), (None, {"aggregation": "driver"})])
def test_what_is_to_be_safe_is_not_left_to_the_driver(options, text, obstacle, extra):
    workers, master = Obstructed(obstacle), replace(AUTO, **options)
    why = obstacle or "as the checkpoint has it"
    with pytest.raises(ConfigError, match=f"{text} where the driver averages.*: {why}"):
        master.resolve(workers, extra)
    chosen, _, substitute = master.resolve(Obstructed(None), {})
    assert chosen == by("peers", master) and substitute is None
    assert AUTO.resolve(Obstructed(None), {})[2] == by("driver")


class Obstructed:
    """Workers with an obstacle to averaging by peers, or None."""

    size = 2

    def __init__(self, obstacle):
        self.obstacle = lambda: obstacle


class Parted(ParameterAveraging, abstract=True):
    """A master whose workers reach the driver but not each other."""

    def __getattribute__(self, name):
        if name == "interface" and multiprocessing.current_process().name == WORKER:
            raise PeerError(1, "elsewhere", "did not join the group within 20 s")
        return super().__getattribute__(name)


class Restarts(Listener):
    def __init__(self):
        self.told = []

    def on_restart(self, restart):
        self.told.append(restart)


@pytest.mark.slow
def test_the_driver_averages_where_workers_do_not_reach_each_other(crews, tmp_path, caplog):
    parted, restarts = Parted(**{**AUTO.to_dict(), "codec": None, "tls": None}), Restarts()
    options = {"listeners": [restarts], "checkpoints": Checkpoints(path=str(tmp_path))}
    state, history = fit(crews(2), parted, validation=Partitions([9]), **options)
    assert_equal(state, fit(crews(2), by("driver"))[0])
    (restart,) = history.restarts
    assert restarts.told == [restart] and restart.lost == 0
    text = "workers do not reach each other, so the driver averages: rank 1 on"
    assert text in str(history)
    assert [text in record.getMessage() for record in caplog.records].count(True) == 1
    assert [epoch.validation.examples for epoch in history.epochs] == [9, 9]
    assert load_checkpoint(str(tmp_path))[2]["aggregation"] == "driver"


@pytest.mark.slow
def test_peers_that_were_asked_for_are_not_replaced(crews):
    options = {**AUTO.to_dict(), "aggregation": "peers", "codec": None, "max_restarts": 0}
    with pytest.raises(Exception, match="did not join the group"):
        fit(crews(2), Parted(**options | {"tls": None}))
