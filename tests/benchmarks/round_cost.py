"""Time of a round (5 minibatches of 64) in small and large partitions, early and late in a fit.

Rounds with small and large partitions alternate, so that both see the same machine load. In the
first epoch blocks come from the shuffle that distributes the records, later from memory; with small
partitions that takes only a few rounds.
"""

import argparse
import time
from functools import partial
from statistics import median, quantiles

import numpy as np

from sparkdl.nn import NetworkConf, Output, Sgd
from sparkdl.spark import SparkWorkers
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.fit.network_fit import with_seed
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import first_state
from tests.benchmarks.session import spark_session

FEATURES, WORKERS = 10, 2
SIZES = 2_000, 200_000
WARM_UP = 30  # rounds on other blocks, while the JVM compiles


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=310)
    parser.add_argument("--around", type=int, default=10, help="rounds in each median")
    options = parser.parse_args(argv)
    with spark_session("local-cluster[2,1,1024]") as sc:
        alternating([rounds(sc, size) for size in SIZES], WARM_UP)
        found = alternating([rounds(sc, size) for size in SIZES], options.rounds)
    late = options.rounds - options.around
    for size, times in zip(SIZES, found):
        print(f"partitions of {size:,}:")
        for first, some in ((3, times[2:][: options.around]), (late + 1, times[late:]), (1, times)):
            print(line(first, some))


def line(first, times):
    low, _, high = (round(t * 1e3) for t in quantiles(times, n=4))
    last = first + len(times) - 1
    middle = median(times) * 1e3
    return f"  rounds {first:>3} to {last:>3}: median {middle:.0f} ms, half in {low} to {high} ms"


def alternating(iterators, count):
    """Returns, for each iterator, the seconds of its first `count` items, alternating."""
    found = [[next(iterator) for iterator in iterators] for _ in range(count)]
    return list(zip(*found))


def rounds(sc, size):
    """Yields seconds of each full round of an endless fit on two partitions of `size` records."""
    conf = NetworkConf(
        input_shape=(FEATURES,), optimizer=Sgd(learning_rate=0.01), layers=[Output(units=2)]
    )
    master, workers, state = ParameterAveraging(), SparkWorkers(sc, WORKERS), first_state(conf)
    rdd = sc.parallelize(range(WORKERS), WORKERS).flatMap(partial(records, size))
    options = with_seed(master, state)
    size = master.records_per_block
    blocks = workers.load(SparkRecords(rdd), schema_of(conf), size, options)
    while True:
        steps = master.epoch(workers, conf, blocks, state)
        while (done := timed(steps)) is not None:
            seconds, (state, report) = done
            if report.examples == WORKERS * size:
                yield seconds


def timed(steps):
    """Returns (seconds, next item), or None at the end."""
    began = time.perf_counter()
    item = next(steps, None)
    return None if item is None else (time.perf_counter() - began, item)


def records(size, part):
    """Returns the (features, label) pairs of a partition."""
    rng = np.random.default_rng(part)
    x = rng.normal(size=(size, FEATURES)).astype(np.float32)
    return zip(x, (x[:, 0] > 0).astype(int).tolist())


if __name__ == "__main__":
    main()
