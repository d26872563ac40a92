"""A fit leaves nothing behind in the SparkContext, and its rounds leave nothing to later ones."""

import os

import pytest

from sparkdl.errors import DataError
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from tests.spark.networks import arrays, data, rich

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=3, averaging_frequency=1, workers=2
)


class Watch(Listener):
    """What there is after each round."""

    def __init__(self, sc):
        self.sc, self.seen = sc, []

    def on_round(self, report, state):
        self.seen.append(traces(self.sc) | {"cached": cached(self.sc)})


def traces(sc):
    return {
        "broadcasts": files(sc),
        "locality": sc._jsc.sc().conf().get("spark.locality.wait", "unset"),
        "description": sc.getLocalProperty("spark.job.description"),
    }


def files(sc):
    """Temporary files of this context; a broadcast is one."""
    return sorted(name for _, _, names in os.walk(sc._temp_dir) for name in names)


def cached(sc):
    return sc._jsc.getPersistentRDDs().size()


def test_a_fit_leaves_nothing_behind(sc):
    sc.setJobDescription("the user's own")
    before, watch = traces(sc), Watch(sc)
    net = SparkNetwork(sc, rich(), MASTER)
    history = net.fit(arrays(), epochs=2, validation=arrays(20), listeners=[watch])
    net.evaluate(arrays())
    sc.setJobDescription(None)
    assert len(watch.seen) == len(history.rounds) > 20
    # The blocks, and the figures of what executors have stored; once it evaluates, of that, too.
    counts = [2 + report.epoch for report in history.rounds]
    assert watch.seen == [before | {"cached": count} for count in counts]
    assert cached(sc) == 0
    assert traces(sc) == before | {"description": None}
    assert before["description"] == "the user's own"


def test_a_fit_that_fails_leaves_nothing_behind(sc):
    class Stop(Exception):
        pass

    class Stopping(Listener):
        def on_round(self, report, state):
            raise Stop

    before = traces(sc)
    with pytest.raises(Stop):
        SparkNetwork(sc, rich(), MASTER).fit(arrays(), listeners=[Stopping()])
    x, y = data(20)
    with pytest.raises(DataError):
        SparkNetwork(sc, rich(), MASTER).fit(sc.parallelize(list(zip(x, y + 9)), 2))
    assert traces(sc) == before
    assert cached(sc) == 0
