"""A driver that removes and adds executors while its workers train.

Arguments: the executor counts, in turn, as a JSON list, and the names of masters. A negative count
decommissions that many executors instead of killing them. For each master it prints the outcome of
the fit as one line of JSON:

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
    # Spark delays the removal of a killed executor to learn why it was lost.
    "spark.standalone.executorRemoveDelayOnDisconnection": "1s",
    "spark.sparkdl.keptData": 0,
    "spark.decommission.enabled": "true",
} | IN_TESTS


class Changes(Listener):
    """Changes the number of executors after an epoch, once workers have moved."""

    def __init__(self, sc, counts):
        self.sc, self.counts, self.is_due = sc, list(counts), True

    def on_epoch(self, report, state):
        if self.counts and self.is_due and report.epoch:
            self.is_due = False
            have(self.sc, self.counts.pop(0))

    def on_restart(self, restart):
        self.is_due = True


def have(sc, count):
    """Returns once the session has `count` executors or, if negative, marks some as leaving."""
    context = sc._jsc.sc()
    if count < 0:
        for name, _ in slots.live_executors(sc)[-count:]:
            decommission(sc, name)
        return
    for name, _ in slots.live_executors(sc)[count:]:
        assert context.killExecutor(name)
    hosts = sc._jvm.PythonUtils.toScalaMap({})
    assert context.requestTotalExecutors(count, 0, hosts)
    until(lambda: slots.concurrent_tasks(sc) == count)  # executors that are leaving do not count


def decommission(sc, name):
    """Decommissions an executor and waits until Spark reports it; the executor exits when idle."""
    nowhere = getattr(sc._jvm, "scala.None$").__getattr__("MODULE$")
    why = sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("a test", nowhere)
    assert sc._jsc.sc().schedulerBackend().decommissionExecutor(name, why, True, False)
    until(lambda: name in slots.leaving_executors(sc, only_busy=True))  # the status that fits check


def fit(sc, name, counts):
    have(sc, counts[0])
    net = SparkNetwork(sc, rich(), master(name))
    waiting = ReduceLROnPlateau("loss", patience=99)  # makes workers wait each epoch
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
    slots.EXECUTOR_TIMEOUT = 1.0  # do not wait for removed executors
    workers.LOOK = 0.0  # all rounds together take less than a second
    cluster = f"local-cluster[{max(counts)},1,1024]"
    with session(cluster, SESSION, name="changing") as spark:
        for name in names:
            print(json.dumps(fit(spark.sparkContext, name, counts)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
