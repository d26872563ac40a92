"""Hyperparameters for experiment trackers: the given options and the defaults."""

import numpy as np

from sparkdl.nn import Adam, ExponentialSchedule, Momentum, NetworkConf, Output
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network
from sparkdl.training.report.hyperparameters import hyperparameters
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.workers.local import LocalWorkers
from tests.training.reports import plan

LAYERS = [Output(units=2)]


class Plan(Listener):
    """Keeps the plan of a fit."""

    def on_fit_start(self, plan):
        self.plan = plan


def options_of(optimizer, **changes):
    conf = NetworkConf(input_shape=(4,), layers=LAYERS, optimizer=optimizer)
    return hyperparameters(plan(conf=conf, **changes))


def test_defaults_of_adam_are_those_of_its_paper():
    found = options_of(Adam())
    names = "learning_rate", "beta1", "beta2", "epsilon"
    assert [found[f"optimizer.{name}"] for name in names] == [0.001, 0.9, 0.999, 1e-8]


def test_options_of_a_schedule_have_paths():
    found = options_of(Momentum(learning_rate=ExponentialSchedule(initial=0.5, gamma=0.9)))
    assert found["optimizer.learning_rate.type"] == "ExponentialSchedule"
    assert found["optimizer.learning_rate.initial"] == 0.5
    assert found["optimizer.momentum"] == 0.9


def test_options_of_the_master_are_there_where_a_fit_has_one():
    conf, keeper = NetworkConf(input_shape=(4,), layers=LAYERS), Plan()
    x = np.zeros((8, 4), np.float32)
    master = AllReduceSGD(workers=1, batch_size_per_worker=4, codec="OneBit")
    options = {"master": master, "workers": LocalWorkers(1), "listeners": [keeper]}
    Network(conf).fit((x, np.zeros(8, int)), 1, **options)
    found = hyperparameters(keeper.plan)
    assert found["master"] == "AllReduceSGD"
    assert found["master.batch_size_per_worker"] == 4
    assert found["master.codec.type"] == "OneBit"
    assert not [name for name in found if "tls" in name]
    assert "master" not in hyperparameters(plan(conf=conf))
