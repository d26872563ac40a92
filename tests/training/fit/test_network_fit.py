"""A fit of a network: its start in the data, its evaluations, and refused options."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.errors import ConfigError, DataError
from sparkdl.own_folders import BUDGETS
from sparkdl.training.fit.network_fit import evaluation_options, fit_network
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.workers.this_process import ThisProcess
from tests.training.master_table import MASTERS
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron

DATA = np.ones((2, 4), np.float32), np.zeros(2, int)


def options_of(resident, made):
    """Returns the options of a fit; `made` collects all networks of its class that are created."""

    class Counted(Network):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    master = SimpleNamespace(resident=resident, device="cpu")
    return evaluation_options(Counted(perceptron()), master, DATA, None)


def test_workers_that_stay_evaluate_without_a_network_of_the_driver():
    made = []
    options = options_of(True, made)
    assert "validation" in options and len(made) == 1


def test_the_driver_makes_one_network_for_all_its_evaluations():
    made = []
    options = options_of(False, made)
    state = made[0].state
    results = [options["evaluate"](state) for _ in range(3)]
    assert [result.examples for result in results] == [2, 2, 2]
    assert "validation" not in options and len(made) == 2


@pytest.mark.parametrize("name", ["updates", "validate_every"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_is_refused_by_its_name(name, value):
    options = {"validation": DATA, name: value}
    with pytest.raises(ConfigError, match=f"^{name} must be an integer >= 1 or None, got "):
        Network(perceptron()).fit(DATA, 1, **options)


# A fit after one that ended inside an epoch


DRIVER, PEERS = (MASTERS[name].master for name in ("averaging by the driver", "all-reduce"))
LARGER = {"batch_size_per_worker": 64}
OTHERS = {  # master, records of the next fit, options of its master
    "fewer records": (DRIVER, [20], {}),
    "more records": (DRIVER, [70, 50], {}),
    "larger minibatches": (DRIVER, [60, 30], LARGER),
    "fewer records, workers stay": (PEERS, [10], {}),
    "larger minibatches, workers stay": (PEERS, [60, 30], LARGER),
}


def left_inside_an_epoch(workers, master):
    network = Network(perceptron())
    network.fit(Partitions([60, 30]), None, master, workers, updates=7)
    assert not network.state.starts_epoch
    return network


@pytest.mark.parametrize("saved", [False, True], ids=["in memory", "saved and loaded"])
@pytest.mark.parametrize("name", OTHERS)
def test_no_record_of_other_data_is_left_out(name, saved, crews, tmp_path):
    master, counts, options = OTHERS[name]
    network = left_inside_an_epoch(crews(2), master)
    if saved:
        network.save(tmp_path / "model")
        network = Network.load(tmp_path / "model")
    began = network.state.epoch
    history = network.fit(Partitions(counts, seed=8), 2, replace(master, **options), crews(2))
    assert [epoch.examples for epoch in history.epochs] == [sum(counts)] * 2
    assert network.state.epoch == began + 3 and network.state.starts_epoch


@pytest.mark.slow
def test_a_place_in_an_epoch_is_that_of_as_many_workers(crews):
    network = left_inside_an_epoch(crews(2), DRIVER)
    [epoch] = network.fit(Partitions([60, 30]), 1, DRIVER, crews(1)).epochs
    assert epoch.examples == 90


@pytest.mark.parametrize("master", [DRIVER, PEERS], ids=["driver", "workers stay"])
def test_updates_go_on_in_the_same_data_also_of_a_saved_network(master, crews, tmp_path):
    network = left_inside_an_epoch(crews(2), master)
    network.save(tmp_path / "model")
    loaded, place = Network.load(tmp_path / "model"), network.state.counters
    for one in network, loaded:
        one.fit(Partitions([60, 30]), None, master, crews(2), updates=9)
    assert network.state.epoch == place["epoch"] and network.state.iteration == 9
    assert_equal(loaded.state, network.state)


# Refusals


def fit(**options):
    return Network(perceptron()).fit(DATA, 1, DRIVER, **options)


LISTENERS = r"^listeners must be a sequence of Listener, got .*; give a list of them"
TESTS = "must be left out where there is no validation data, got .*; give validation="
REFUSED = {
    "a folder": ({"checkpoints": "/tmp/x"}, r"^checkpoints must be Checkpoints or None, got '/tm"),
    "a class": ({"listeners": [EarlyStopping]}, LISTENERS),
    "one listener": ({"listeners": EarlyStopping("loss")}, LISTENERS),
    "no listeners": ({"listeners": None}, LISTENERS),
    "evaluations of nothing": ({"validate_every": 2}, f"^validate_every {TESTS}"),
    "a first one of nothing": ({"validate_first": True}, f"^validate_first {TESTS}"),
}


@pytest.mark.parametrize("options, text", REFUSED.values(), ids=list(REFUSED))
def test_what_a_fit_cannot_use_is_refused_by_name(options, text):
    with pytest.raises(ConfigError, match=text):
        fit(**options)


class Unread(Partitions):
    def splits(self):
        raise AssertionError("the data was looked at")


@pytest.mark.parametrize("variable", BUDGETS)
def test_a_budget_that_is_no_number_is_refused_before_data_is_read(variable, monkeypatch):
    monkeypatch.setenv(variable, "1e9")
    message = f"^{variable} must be a number of bytes, got '1e9'; set it, or unset it$"
    with pytest.raises(ConfigError, match=message):
        fit_network(Network(perceptron()), Unread([9]), DRIVER, ThisProcess(), 1)


WEIGHTLESS = Arrays({"features": DATA[0], "weights": np.zeros(len(DATA[0]))}, DATA[1])
NOTHING = {
    "no records": ({"validation": (DATA[0][:0], DATA[1][:0])}, "; give some"),
    "none that is drawn": ({"validation_split": 1e-9}, "; give some"),
    "none with a weight": ({"validation": WEIGHTLESS}, ": the weight of each is 0"),
}


@pytest.mark.parametrize("options, why", NOTHING.values(), ids=list(NOTHING))
def test_nothing_to_evaluate_is_found_before_anything_is_trained(options, why, crews):
    network = Network(perceptron())
    with pytest.raises(DataError, match=f"there are no records to evaluate on{why}"):
        network.fit(Partitions([9]), 1, DRIVER, crews(2), **options)
    assert network.state.rounds == 0
