"""Memory of a session's processes while two executors of 1 GB train on more data than that.

Figures are peak proportional set sizes per kind of process, sampled by a thread: of all pages, and
without mapped files, whose pages the system can reclaim.
"""

import argparse
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from sparkdl.data import Parquet
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from tests.benchmarks.session import spark_session
from tests.benchmarks.session_memory import EXECUTORS, MB, kind_of

FEATURES, PARTS, EVERY = 784, 8, 0.25


def main(arguments=None):
    options = parser().parse_args(arguments)
    count = int(options.megabytes * MB / (4 * FEATURES))
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), count)
        for name in options.only:
            with spark_session(EXECUTORS) as sc, peaks() as (all_pages, own_pages):
                began = time.perf_counter()
                history = fit(sc, SOURCES[name](folder), options.epochs)
                seconds = time.perf_counter() - began
            examples = history.epochs[-1].examples
            print(f"{name}: {examples} records an epoch, {options.epochs} in {seconds:.1f} s")
            for title, figures in (("all", all_pages), ("without files", own_pages)):
                print(f"  {title}:", ", ".join(f"{k} {v / MB:.0f} MB" for k, v in figures.items()))


def write(folder, count):
    """Writes rows of FEATURES floats and a label, in PARTS files."""
    rng = np.random.default_rng(0)
    for part in range(PARTS):
        n = count // PARTS
        values = pa.array(rng.random(n * FEATURES, dtype=np.float32))
        features = pa.FixedSizeListArray.from_arrays(values, FEATURES)
        table = pa.table({"features": features, "label": pa.array(rng.integers(0, 10, n))})
        pq.write_table(table, folder / f"{part}.parquet", row_group_size=4_000)


def frame(folder):
    return SparkSession.builder.getOrCreate().read.parquet(folder)


def pairs(folder):
    return frame(folder).rdd.map(lambda row: (row.features, row.label))


SOURCES = {"frame": frame, "pairs": pairs, "files": Parquet}


def fit(sc, data, epochs):
    layers = [Dense(units=128, activation="relu"), Output(units=10)]
    net = SparkNetwork(sc, NetworkConf(input_shape=(FEATURES,), layers=layers, seed=1))
    return net.fit(data, epochs=epochs)


@contextmanager
def peaks():
    """Yields peak ({kind: bytes} of all pages, the same without mapped files)."""
    found, ended = (Counter(), Counter()), threading.Event()

    def watch():
        while not ended.wait(EVERY):
            for highest, now in zip(found, sizes(), strict=True):
                highest |= now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


def sizes():
    """Returns two Counters {kind: bytes} of this process and its descendants."""
    every, own, me = Counter(), Counter(), psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            maps = process.memory_maps(grouped=True)
            kind = kind_of(process, me)
        except (psutil.NoSuchProcess, psutil.AccessDenied):  # it ended meanwhile
            continue
        every[kind] += sum(one.pss for one in maps)
        own[kind] += sum(one.pss for one in maps if not one.path.startswith("/"))
    return every, own


def parser():
    options = argparse.ArgumentParser(prog="bench records_memory", description=__doc__)
    options.add_argument("--megabytes", type=float, default=1024, help="of features (1024)")
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--only", nargs="+", choices=SOURCES, default=[*SOURCES])
    return options


if __name__ == "__main__":
    main()
