"""Memory of a session's processes over a hundred fits, a hundred epochs and twenty predictions.

Figures are proportional set sizes (a page that n processes share counts 1/n in each), summed per
kind of process, and the driver's JVM heap in use after garbage collection.
"""

import argparse
import time
from collections import Counter

import numpy as np
import psutil
from pyspark.sql import Row, SparkSession

from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from tests.benchmarks.session import spark_session

EXECUTORS = "local-cluster[2,1,1024]"
RECORDS, FEATURES, CLASSES = 2_000, 64, 4
MB = 2**20


def main(arguments=None):
    options = parser().parse_args(arguments)
    with spark_session(EXECUTORS) as sc:
        for name, repeat, count in phases(sc, options):
            show(f"before {name}", sc)
            for done in range(1, count + 1):
                repeat()
                if done in (count // 10, count // 2):
                    show(f"{done} {name}", sc)
            show(f"{count} {name}", sc)


def phases(sc, options):
    """Returns (name, repeated action, number of repetitions) tuples."""
    frame = records(sc)
    net = SparkNetwork(sc, network())
    return [
        ("fits of new data", lambda: SparkNetwork(sc, network()).fit(records(sc)), options.fits),
        ("fits of the same data", lambda: SparkNetwork(sc, network()).fit(frame), options.fits),
        ("epochs of one fit", lambda: net.fit(frame, epochs=options.epochs), 1),
        ("predictions", lambda: net.predict(frame).collect(), options.predictions),
    ]


def network():
    layers = [Dense(units=64, activation="relu"), Output(units=CLASSES)]
    return NetworkConf(input_shape=(FEATURES,), layers=layers, seed=1)


def records(sc):
    """Returns a new DataFrame with the same rows each time."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(RECORDS, FEATURES))
    labels = rng.integers(0, CLASSES, RECORDS)
    rows = zip(features.tolist(), labels.tolist(), strict=True)
    pairs = [Row(features=x, label=y) for x, y in rows]
    return SparkSession.builder.getOrCreate().createDataFrame(sc.parallelize(pairs, 2))


def show(title, sc):
    """Prints a line: memory by kind of process, and the driver's heap."""
    figures = by_kind() | {"driver's heap": heap(sc)}
    words = [f"{kind} {size / MB:.0f} MB" for kind, size in figures.items()]
    print(f"{title + ':':28}", ", ".join(words), flush=True)


def by_kind():
    """Returns {kind of process: bytes} of this process and its descendants."""
    sizes, me = Counter(), psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            sizes[kind_of(process, me)] += process.memory_full_info().pss
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return dict(sorted(sizes.items()))


def kind_of(process, me):
    if process == me:
        return "driver's Python"
    words = " ".join(process.cmdline())
    if "CoarseGrainedExecutorBackend" in words:
        return "executors' JVMs"
    return "driver's JVM" if "java" in process.name() else "executors' Pythons"


def heap(sc):
    """Returns the bytes of heap in use after garbage collection."""
    runtime, system = sc._jvm.Runtime.getRuntime(), sc._jvm.System
    for _ in range(2):
        system.gc()
        time.sleep(0.5)  # Spark's cleaner frees unreferenced objects in a background thread
    return runtime.totalMemory() - runtime.freeMemory()


def parser():
    options = argparse.ArgumentParser(prog="bench session_memory", description=__doc__)
    options.add_argument("--fits", type=int, default=100)
    options.add_argument("--epochs", type=int, default=100)
    options.add_argument("--predictions", type=int, default=20)
    return options
