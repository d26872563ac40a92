"""A fit on Spark resumed from a checkpoint ends with the weights of an uninterrupted one."""

from functools import partial

import pytest

from sparkdl.errors import CheckpointError
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.spark.networks import arrays, plain, rich
from tests.training.models import assert_equal

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=4, averaging_frequency=2, workers=2
)


class Stop(Exception):
    """Interrupts a fit."""


class StopAfter(Listener):
    def __init__(self, rounds):
        self.rounds = rounds

    def on_round(self, report, state):
        if state.rounds == self.rounds:
            raise Stop


@pytest.fixture(scope="module")
def uninterrupted(spark):
    net = SparkNetwork(spark, rich(), MASTER)
    net.fit(arrays(), epochs=3)
    return net.network.state


def interrupted(sc, path, rounds):
    net = SparkNetwork(sc, rich(), MASTER)
    options = {"checkpoints": Checkpoints(path=str(path), every_rounds=1, keep=2)}
    with pytest.raises(Stop):
        net.fit(arrays(), epochs=3, listeners=[StopAfter(rounds)], **options)


@pytest.mark.parametrize("rounds", [3, 5], ids=["within an epoch", "in the second epoch"])
def test_a_resumed_fit_gives_the_same_bits(rounds, uninterrupted, sc, tmp_path):
    interrupted(sc, tmp_path, rounds)
    net = SparkNetwork(sc, rich(), MASTER)
    history = net.fit(arrays(), epochs=3, resume=str(tmp_path))
    assert_equal(net.network.state, uninterrupted)
    assert len(history.rounds) == uninterrupted.rounds - rounds


@pytest.mark.parametrize("aggregation", ["driver", "peers"])
def test_a_fit_keeps_its_workers_where_another_number_runs_at_once(aggregation, sc, tmp_path):
    """After a restart of the driver there may be fewer executors: the fit was refused."""
    make = partial(
        ParameterAveraging,
        aggregation=aggregation,
        batch_size_per_worker=4,
        averaging_frequency=2,
    )
    whole = SparkNetwork(sc, rich(), make(workers=3))
    whole.fit(arrays(), epochs=2)
    net = SparkNetwork(sc, rich(), make(workers=3))
    options = {"checkpoints": Checkpoints(path=str(tmp_path), every_rounds=1, keep=2)}
    with pytest.raises(Stop):
        net.fit(arrays(), epochs=2, listeners=[StopAfter(1)], **options)
    for place in (True, str(tmp_path)):
        again = SparkNetwork(sc, net.network if place is True else rich(), make())
        again.fit(arrays(), epochs=2, resume=place)
        assert again.history.workers == 3, "two run at once"
        assert_equal(again.network.state, whole.network.state)


OTHERS = {
    "another network": (plain(), MASTER, arrays(), "holds another network"),
    "other data": (rich(), MASTER, arrays(61), "was written with records 60, this fit has 61"),
    "other workers": (
        rich(),
        ParameterAveraging(
            aggregation="driver", batch_size_per_worker=4, averaging_frequency=2, workers=3
        ),
        arrays(),
        "was written with (options|workers) ",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_would_not_give_the_same_weights_is_refused(case, sc, tmp_path):
    conf, master, data, message = OTHERS[case]
    interrupted(sc, tmp_path, 1)
    with pytest.raises(CheckpointError, match=message):
        SparkNetwork(sc, conf, master).fit(data, epochs=3, resume=str(tmp_path))
    assert sc._jsc.getPersistentRDDs().isEmpty()
