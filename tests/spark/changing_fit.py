"""A driver that sends executors away and has others come while its workers train.

Its arguments are how many executors there are, one number after another as JSON, and the names of
masters. Before a negative number they are not killed but decommissioned. It prints for each master
what became of the fit, as a line of JSON:

    python -m tests.spark.changing_fit "[2, 4, 1, 3]" all-reduce "gradients of 1 bit"
"""

import json
import sys
from dataclasses import replace

from sparkdl.spark import SparkNetwork, workers
from sparkdl.spark.jobs import slots
from sparkdl.spark.session import session
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from tests.spark.networks import arrays, rich
from tests.support.loaded_daemon import IN_TESTS
from tests.support.waiting import until
from tests.training.master_table import MASTERS

WORKERS, EPOCHS, RECORDS = 4, 12, 62
SESSION = {
    # An executor that was sent away is gone; Spark waits to hear of what it died.
    "spark.standalone.executorRemoveDelayOnDisconnection": "1s",
    "spark.sparkdl.keptData": 0,
    "spark.decommission.enabled": "true",
} | IN_TESTS


class Changes(Listener):
    """Sets the number of executors when epochs have ended, once the workers of the last moved."""

    def __init__(self, sc, counts):
        self.sc, self.counts, self.is_due = sc, list(counts), True

    def on_epoch(self, report, state):
        if self.counts and self.is_due and report.epoch:
            self.is_due = False
            have(self.sc, self.counts.pop(0))

    def on_restart(self, restart):
        self.is_due = True


def have(sc, count):
    """Returns once the session has so many executors, or knows which of them will leave."""
    context = sc._jsc.sc()
    if count < 0:
        for name, _ in slots.live_executors(sc)[-count:]:
            decommission(sc, name)
        return
    for name, _ in slots.live_executors(sc)[count:]:
        assert context.killExecutor(name)
    hosts = sc._jvm.PythonUtils.toScalaMap({})
    assert context.requestTotalExecutors(count, 0, hosts)
    until(lambda: slots.concurrent_tasks(sc) == count)  # those that leave are none


def decommission(sc, name):
    """Tells Spark that an executor will go, and waits until Spark says so; it goes when idle."""
    nowhere = getattr(sc._jvm, "scala.None$").__getattr__("MODULE$")
    why = sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("a test", nowhere)
    assert sc._jsc.sc().schedulerBackend().decommissionExecutor(name, why, True, False)
    until(lambda: name in slots.leaving_executors(sc, only_busy=True))  # what fits look at


def fit(sc, name, counts):
    have(sc, counts[0])
    net = SparkNetwork(sc, rich(), master(name))
    waiting = ReduceLROnPlateau("loss", patience=99)  # workers wait for its word after each epoch
    history = net.fit(arrays(RECORDS), EPOCHS, listeners=[waiting, Changes(sc, counts[1:])])
    return {
        "restarts": [[one.lost, one.workers, one.reason] for one in history.restarts],
        "examples": [epoch.examples for epoch in history.epochs],
        "params": net.network.state.params.tobytes().hex(),
    }


def master(name):
    return replace(MASTERS[name].master, workers=WORKERS)


def main(counts, *names):
    counts = json.loads(counts)
    slots.EXECUTOR_TIMEOUT = 1.0  # nobody waits for those that were sent away
    workers.LOOK = 0.0  # all rounds together take less than a second
    cluster = f"local-cluster[{max(counts)},1,1024]"
    with session(cluster, SESSION, name="changing") as spark:
        for name in names:
            print(json.dumps(fit(spark.sparkContext, name, counts)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
