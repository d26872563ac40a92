"""Steps of a network with an embedding table, for ids below 10^5 to 10^8.

Each record draws its ids uniformly from a fixed number of active ids spread over the range. With
--full the table is filled with all rows in advance, not only those that occur (10^8 of dimension 4
take 5.3 GB). One process; figures are median CPU seconds per step.
"""

import argparse
import time
from statistics import median

import numpy as np

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.nn import AdaGrad, Dense, EmbeddingBag, GraphConf, Output, Vertex
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.tables.row_keys import RowKeys

WIDTH, UNITS, CLASSES, RATE, CHUNK = 26, 64, 2, 0.05, 1 << 20
RANGES = 10**5, 10**6, 10**7, 10**8


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench tables rows", description=__doc__)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--dimension", type=int, default=16)
    parser.add_argument("--full", action="store_true", help="all rows are there")
    parser.add_argument("--active", type=int, default=60_000, help="ids that occur")
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args(argv)
    print(
        "| ids | rows | ms a step | samples/s | bytes over the rows' own |\n|---|---|---|---|---|"
    )
    for below in RANGES:
        print(row(f"{below:.0e}", *measure(options, below)), flush=True)


def row(name, seconds, rows, overhead, batch):
    figures = f"{1000 * seconds:.2f} | {batch / seconds:.0f} | {100 * overhead:.1f} %"
    return f"| {name} | {rows} | {figures} |"


def batches(options, below):
    """Yields (ids, labels) of steps; the first steps put every active id into the table."""
    rng = np.random.default_rng(1)
    active = rng.choice(below, options.active, replace=False).astype(np.int64)
    shape = options.batch, WIDTH
    for start in range(0, len(active), options.batch * WIDTH):
        yield np.resize(active[start:], shape), rng.integers(0, CLASSES, options.batch)
    for _ in range(options.steps):
        yield rng.choice(active, shape), rng.integers(0, CLASSES, options.batch)


def measure(options, below):
    bag = EmbeddingBag(name="ids", dimension=options.dimension, width=WIDTH)
    hidden = Dense(units=UNITS, activation="relu")
    conf = GraphConf(
        bags=[bag],
        vertices=[
            Vertex(name="hidden", layer=hidden, inputs="ids"),
            Vertex(name="out", layer=Output(units=CLASSES), inputs="hidden"),
        ],
        optimizer=AdaGrad(learning_rate=RATE),
    )
    replica, seconds = make_replica(conf), []
    replica.load_tables({})
    [group] = replica.groups
    if options.full:
        fill(group, below)
    for t, (ids, labels) in enumerate(batches(options, below)):
        columns = {"features": ids, "labels": labels.astype(np.int32)}
        batch = Batch(columns=columns, ids=record_ids(0, 0, len(ids)))
        start = time.process_time()
        replica.step(batch, conf.rate_at(t, 0), t + 1)
        seconds.append(time.process_time() - start)
    overhead = (
        group.nbytes / (len(group) * (8 + 8 * options.dimension)) - 1
    )  # id, row and AdaGrad's sum
    return median(seconds[-options.steps :]), len(group), overhead, options.batch


def fill(group, below):
    """Creates all rows of a table by an update of each."""
    for start in range(0, below, CHUNK):
        keys = RowKeys.of(np.arange(start, min(start + CHUNK, below)))
        group.update(keys, np.zeros((len(keys.ids), group.dimension), np.float32), RATE, 1)
