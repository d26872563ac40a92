"""A driver that sends executors away and has others come while its workers train.

It prints what became of the fit, as JSON.
"""

import json
from dataclasses import replace

from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs import slots
from sparkdl.spark.session import session
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from tests.spark.networks import arrays, rich
from tests.support.loaded_daemon import IN_TESTS
from tests.support.waiting import until
from tests.training.master_table import MASTERS

WORKERS, EPOCHS, RECORDS = 4, 12, 62
COUNTS = {1: 1, 4: 2, 6: 1, 9: 2}  # executors from the end of an epoch on; at first there are 2
# Each worker keeps back what others do not have.
MASTER = replace(MASTERS["gradients of 1 bit"].master, workers=WORKERS)
SESSION = {
    # An executor that was sent away is gone; Spark waits to hear of what it died.
    "spark.standalone.executorRemoveDelayOnDisconnection": "1s",
    "spark.sparkdl.keptData": 0,
} | IN_TESTS


class Changes(Listener):
    """Sets the number of executors when epochs have ended."""

    def __init__(self, sc):
        self.sc = sc

    def on_epoch(self, report, state):
        if report.epoch in COUNTS:
            have(self.sc, COUNTS[report.epoch])


def have(sc, count):
    """Returns once the session has so many executors."""
    context = sc._jsc.sc()
    for name, _ in slots.live_executors(sc)[count:]:
        assert context.killExecutor(name)
    hosts = sc._jvm.PythonUtils.toScalaMap({})
    assert context.requestTotalExecutors(count, 0, hosts)
    until(lambda: slots.executors(sc) == count, 60)


def changing(sc):
    net = SparkNetwork(sc, rich(), MASTER)
    waiting = ReduceLROnPlateau("loss", patience=99)  # workers wait for its word after each epoch
    history = net.fit(arrays(RECORDS), EPOCHS, listeners=[waiting, Changes(sc)])
    return {
        "restarts": [[one.lost, one.workers, one.reason] for one in history.restarts],
        "examples": [epoch.examples for epoch in history.epochs],
        "params": net.network.state.params.tobytes().hex(),
    }


def main():
    slots.EXECUTOR_TIMEOUT = 1.0  # nobody waits for those that were sent away
    with session("local-cluster[2,1,1024]", SESSION, name="changing") as spark:
        print(json.dumps(changing(spark.sparkContext)))


if __name__ == "__main__":
    main()
