"""A round of parameter averaging of a large network: through the driver, and peer to peer.

Computation is negligible, at one example per worker. Fits of both alternate in the same Spark
session; a round is the time from one report to the next.
"""

import time
from statistics import median

import numpy as np

from sparkdl.data import Arrays
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from tests.benchmarks.exchange.row import Bar, Row, duration
from tests.benchmarks.session import spark_session

FEATURES, UNITS = 1000, 9990  # 10 million parameters
WORKERS, ROUNDS, WARM_UP, FITS = 2, 10, 3, 2
WAYS = ("driver", "peers")


class Clock(Listener):
    """Records the time of each round's report."""

    def __init__(self):
        self.times = []

    def on_round(self, report, state):
        self.times.append(time.perf_counter())

    def rounds(self):
        return np.diff(self.times[WARM_UP:]).tolist()


def measure(options):
    found = {way: [] for way in WAYS}
    with spark_session(f"local-cluster[{WORKERS},1,3072]", **{"spark.executor.memory": "3g"}) as sc:
        for _ in range(FITS):
            for way in WAYS:
                found[way] += rounds(sc, way)
    seconds = {way: median(times) for way, times in found.items()}
    share = Bar(
        what="of a round through the driver",
        bound=0.15,
        most=True,
        unit="",
        value=seconds["peers"] / seconds["driver"],
    )
    notes = [f"{way:8} {duration(seconds[way]):>8}" for way in WAYS]
    title = f"averaging round, 10 M parameters, {WORKERS} executors"
    yield Row(
        title=title,
        ours=duration(seconds["peers"]),
        bars=(share,),
        notes=tuple(notes),
        figures=found,
    )


def rounds(sc, way):
    """Returns the seconds of each round of a fit after the warm-up."""
    layers = [Dense(units=UNITS), Output(units=2)]
    conf = NetworkConf(input_shape=(FEATURES,), optimizer=Sgd(learning_rate=1e-3), layers=layers)
    n = WORKERS * (WARM_UP + ROUNDS)
    data = Arrays(
        np.zeros((n, FEATURES), np.uint8), np.zeros(n, int), records_per_split=n // WORKERS
    )
    one = {"batch_size_per_worker": 1, "averaging_frequency": 1, "workers": WORKERS}
    master = ParameterAveraging(**one, repartition="never", aggregation=way)
    clock = Clock()
    SparkNetwork(sc, conf, master).fit(data, listeners=[clock])
    return clock.rounds()
