"""Fits on executors of this machine, each with one fault, and their outcomes."""

import random
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import psutil
from pyspark.sql import SparkSession

from sparkdl.errors import SparkdlError
from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from tests.chaos.clock_faults import CLOCK_FAULTS, OF_EXECUTORS, adjustable_clocks
from tests.chaos.outcome import Outcome, count_losses, wrongs
from tests.chaos.process_faults import LIMIT, PROCESS_FAULTS, hurting
from tests.chaos.resource_faults import RESOURCE_FAULTS, spark_disk
from tests.chaos.striker import Striker
from tests.conftest import SMALL
from tests.spark.networks import arrays, data, rich
from tests.spark.slow import Slow
from tests.spark.test_traces import cached, files
from tests.support.fork_server import is_spawned
from tests.support.waiting import gone, until
from tests.training.master_table import MASTERS

RECORDS, EPOCHS, WORKERS = 62, 3, 3  # on two slots: one task has two workers
PAUSE = 0.03  # seconds of a minibatch
FAULTS = PROCESS_FAULTS | RESOURCE_FAULTS | CLOCK_FAULTS


@contextmanager
def local_cluster(only=tuple(FAULTS)):
    """Yields a LocalCluster with these faults."""
    with (
        tempfile.TemporaryDirectory() as folder,
        adjustable_clocks(folder),
        spark_disk(folder) as disk,
        session("local-cluster[2,1,1024]", SMALL | OF_EXECUTORS | disk, name="chaos") as spark,
    ):
        yield LocalCluster(spark.sparkContext, {name: FAULTS[name] for name in only})


class LocalCluster:
    """The cluster of a SparkContext, and its faults: {name: function of a worker's process}.

    Fits read a source, or what a shuffle delivers, which comes in another order after a lost
    executor.
    """

    def __init__(self, sc, faults):
        self.sc, self.faults, self._calm = sc, faults, {}
        self.kinds = {
            "a source": self.source,
            "a shuffle": self.shuffle,
            "a shuffle of an RDD": self.shuffle_rdd,
        }

    def take_turn(self, seed):
        """Returns the Outcome of a fit with a fault, both drawn from this seed."""
        draw = random.Random(seed)
        name, fault = draw.choice(list(MASTERS)), draw.choice(list(self.faults))
        after = draw.randrange(2, RECORDS * EPOCHS // 8)
        kind = random.Random(f"{seed}, data").choice(list(self.kinds))
        expected, before, start = self.calm(name, kind), traces(self.sc), time.monotonic()
        error, history, wrong = "", None, []
        with tempfile.TemporaryDirectory() as folder:
            slow = Slow(folder, PAUSE)
            striker = Striker(slow, after, hurting(self.faults[fault], slow, draw.choice))
            striker.start()
            try:
                net, history = self.fit(name, kind, slow)
                examples = [epoch.examples for epoch in history.epochs]
                same = np.array_equal(net.network.state.params, expected)
                wrong += wrongs(MASTERS[name], same, examples, [RECORDS] * EPOCHS)
            except SparkdlError as raised:
                error = f"{type(raised).__name__}: {raised}"
            seconds = time.monotonic() - start
            striker.end()
            spawned = [one for one in map(process, slow.processes()) if one and is_spawned(one.pid)]
        with suppress(AssertionError):
            until(lambda: all(map(gone, spawned)))
        if left := [one.pid for one in spawned if not gone(one)]:
            wrong.append(f"processes left: {left}")
        wrong += self.after_turn()
        if left := traces(self.sc) - before:  # what was there may go meanwhile
            wrong.append(f"left: {dict(left)}")
        restarts = count_losses(one.reason for one in history.restarts) if history else 0
        times = seconds, striker.wait
        return Outcome(name, fault, kind, striker.struck, *times, restarts, error, tuple(wrong))

    def calm(self, name, kind):
        """Returns the parameters of the fit without faults."""
        if (name, kind) not in self._calm:
            self._calm[name, kind] = self.fit(name, kind, None)[0].network.state.params
        return self._calm[name, kind]

    def fit(self, name, kind, transform):
        """Returns (SparkNetwork, History) of a fit of such data under a master of the table."""
        master = replace(MASTERS[name].master, workers=WORKERS)
        if master.resident:
            master = replace(master, timeout=LIMIT, stall_timeout=10 * LIMIT, snapshot_every=2)
        net = SparkNetwork(self.sc, rich(), master)
        return net, net.fit(epochs=EPOCHS, **self.kinds[kind](transform), **self.options())

    def source(self, transform):
        """Returns options of `fit`: data, and the transform if the data has none."""
        return {"data": arrays(RECORDS, 25, transform)}

    def shuffle(self, transform):
        rows = [(x.tolist(), int(y)) for x, y in zip(*data(RECORDS), strict=True)]
        spark = SparkSession.builder.getOrCreate()
        frame = spark.createDataFrame(rows, "features array<float>, label int")
        return {"data": frame.repartition(4), "transform": transform}

    def shuffle_rdd(self, transform):
        pairs = [(k % 7, (x, y)) for k, (x, y) in enumerate(zip(*data(RECORDS), strict=True))]
        spread = self.sc.parallelize(pairs, 4).partitionBy(4, int)
        return {"data": spread.values(), "transform": transform}

    def options(self):
        """Returns extra options for `fit`."""
        return {}

    def after_turn(self):
        """Returns what else is wrong after a turn."""
        return []


def traces(sc):
    """Returns a Counter of temporary files and of cached RDDs."""
    return Counter(files(sc)) + Counter({"cached RDDs": cached(sc)})


def process(pid):
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None
