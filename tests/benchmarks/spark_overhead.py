"""Cost of a round through the driver against a bare Spark job with the same bytes.

Computation is negligible, at one example per worker. The bare job broadcasts a vector as long as
the parameters and sums one such vector per task with treeAggregate. The two alternate.
"""

import argparse
import time
from statistics import median

import numpy as np

from sparkdl.data import Arrays
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.spark import SparkWorkers
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.fit.network_fit import with_seed
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import first_state
from tests.benchmarks.session import spark_session

FEATURES = 100


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--units", type=int, nargs="+", default=[10, 5_000, 50_000])
    options = parser.parse_args(argv)
    with spark_session("local-cluster[2,1,1024]") as sc:
        for units in options.units:
            print(line(sc, units, options.rounds), flush=True)


def line(sc, units, rounds):
    layers = [Dense(units=units), Output(units=2)]
    conf = NetworkConf(input_shape=(FEATURES,), optimizer=Sgd(learning_rate=1e-4), layers=layers)
    ours, bare = paired(sc, conf, rounds)
    ratio = median(a / b for a, b in zip(ours, bare, strict=True))
    return (
        f"{conf.parameter_count:>10,} parameters: round {median(ours) * 1e3:6.1f} ms, "
        f"bare job {median(bare) * 1e3:6.1f} ms, ratio {ratio:.2f} (median of {len(ours)} pairs)"
    )


def paired(sc, conf, rounds, warm_up=5):
    """Returns the seconds of each round and of the bare job next to it."""
    state = first_state(conf)
    master = ParameterAveraging(
        aggregation="driver", batch_size_per_worker=1, averaging_frequency=1, repartition="never"
    )
    x, y = (
        np.zeros((2 * (rounds + warm_up), FEATURES), np.float32),
        np.zeros(2 * (rounds + warm_up)),
    )
    workers = SparkWorkers(sc, 2)
    data = SparkRecords(Arrays(x, y, records_per_split=len(x) // 2))
    options = with_seed(master, state)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, options)
    two = sc.parallelize(range(2), 2).cache()
    ours, bare = [], []
    steps = master.epoch(workers, conf, blocks, state)
    for _ in range(rounds + warm_up):
        began = time.perf_counter()
        state, _ = next(steps)
        middle = time.perf_counter()
        bare_job(sc, two, state.params)
        ours.append(middle - began)
        bare.append(time.perf_counter() - middle)
    blocks.close()
    return ours[warm_up:], bare[warm_up:]


def bare_job(sc, two, vector):
    """Broadcasts a vector and sums one such vector per task."""
    sent = sc.broadcast(vector)
    vectors = two.map(lambda _: sent.value)
    total = vectors.treeAggregate(None, added, added, depth=2)
    sent.destroy()
    return total


def added(first, second):
    return second if first is None else first if second is None else first + second
