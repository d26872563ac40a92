"""Memory of the driver while few and many workers train a network of 10 million parameters.

Each number of workers gets a new driver process. Figures are the peak resident memory of its Python
process, and the JVM heap in use after garbage collection, minimum over rounds.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from sparkdl.data import Arrays
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from tests.benchmarks.session import spark_session

FEATURES, UNITS = 1000, 9990
MB = 2**20


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 16])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--measure", action="store_true", help="in this process; prints JSON")
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(measured(options.workers[0], options.rounds)))
        return
    found = [apart(workers, options.rounds) for workers in options.workers]
    for workers, figures in zip(options.workers, found):
        print(f"{workers:>3} workers: {text(figures)}")
    change = {name: found[-1][name] - found[0][name] for name in found[0]}
    print(f" difference: {text(change)}")


def text(figures):
    return ", ".join(f"{name} {size / MB:.1f} MB" for name, size in figures.items())


def apart(workers, rounds):
    """Runs `measured` in a new process."""
    module = [sys.executable, "-m", "tests.benchmarks.driver_memory", "--measure"]
    command = [*module, "--workers", str(workers), "--rounds", str(rounds)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(lines.splitlines()[-1])


def measured(workers, rounds):
    """Returns bytes: Python's peak, and the least JVM heap left by garbage collection."""
    layers = [Dense(units=UNITS), Output(units=2)]
    conf = NetworkConf(input_shape=(FEATURES,), optimizer=Sgd(learning_rate=1e-3), layers=layers)
    n = workers * rounds
    data = Arrays(np.zeros((n, FEATURES), np.uint8), np.zeros(n, int), records_per_split=rounds)
    master = ParameterAveraging(
        aggregation="driver",
        batch_size_per_worker=1,
        averaging_frequency=1,
        workers=workers,
        repartition="never",
    )
    with spark_session("local-cluster[2,1,3072]", **{"spark.executor.memory": "3g"}) as sc:
        heap = Heap(sc)
        history = SparkNetwork(sc, conf, master).fit(data, listeners=[heap])
        assert [report.workers for report in history.rounds] == [workers] * rounds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"Python peak": peak, "JVM heap that stays": min(heap.used)}


class Heap(Listener):
    """Records the JVM heap in use after garbage collection, each round."""

    def __init__(self, sc):
        self.runtime, self.system, self.used = sc._jvm.Runtime.getRuntime(), sc._jvm.System, []

    def on_round(self, report, state):
        self.system.gc()
        time.sleep(0.5)  # Spark frees a destroyed broadcast's blocks in a background thread
        self.system.gc()
        self.used.append(self.runtime.totalMemory() - self.runtime.freeMemory())


if __name__ == "__main__":
    main()
