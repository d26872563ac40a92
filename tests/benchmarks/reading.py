"""Speed of reading, decoding and batching LMDB and Parquet, against LeNet's step and plain loops.

All sides alternate in one process. LeNet's step takes minibatches of 64 on all cores, as for a
worker alone on the machine; readers have one thread. The plain loops are written by hand:
minibatches of 64 from lmdb and protobuf, like ours, and pyarrow's record batches against our
checked Batches. A ratio is the median over turns of two figures of the same turn; a bar is its
minimum.
"""

import argparse
import itertools
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import lmdb
import numpy as np
import pyarrow.parquet as pq

from sparkdl.data import LMDB, Batch, Parquet, Scale, write_lmdb, write_parquet
from sparkdl.data.readers.encodings.protobuf_messages import messages
from sparkdl.data.source import check_batches
from sparkdl.nn import Momentum, zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.inputs.schema import schema_of

BATCH = 64
TURN = 0.7  # seconds
CONF = zoo.lenet(optimizer=Momentum(learning_rate=0.01), seed=1)
STEP, LOOP, ARROW = "LeNet's step", "a loop of lmdb and protobuf", "pyarrow's iteration"
BARS = {  # minimum ratio of our speed to another's
    ("LMDB", STEP): 5.0,
    ("LMDB", LOOP): 1.0,
    ("LMDB, scaled", STEP): 5.0,
    ("Parquet", STEP): 5.0,
    ("Parquet", ARROW): 1.0,
}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench reading", description=__doc__)
    parser.add_argument("--records", type=int, default=60_000, help="of 28 x 28 pixels (60,000)")
    parser.add_argument("--turns", type=int, default=9, help="of each side (9)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        write(folder, options.records)
        found = in_turns(sides(Path(folder)), options.turns)
    for name, figures in found.items():
        print(f"{name:30} {median(figures):>12,.0f} records/s")
    for (name, other), bar in BARS.items():
        ratio = median(a / b for a, b in zip(found[name], found[other], strict=True))
        verdict = "held" if ratio >= bar else "MISSED"
        print(f"{name} against {other}: {ratio:.2f} times, bar {bar:g}: {verdict}")


def write(folder, count):
    """Writes the same records in both formats; noise is as long as digits."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 1, 28, 28)).astype(np.uint8)
    batch = Batch.of(images, rng.integers(0, 10, count).astype(np.int32))
    write_lmdb(f"{folder}/lmdb", [batch])
    write_parquet(f"{folder}/parquet", [batch])


def sides(folder):
    """Returns {name: function that reads all records, or trains, and returns their count}."""
    replica = Replica(CONF)
    images = np.random.default_rng(0).normal(size=(BATCH, 1, 28, 28)).astype(np.float32)
    batch = Batch.of(images, np.zeros(BATCH, np.int32))
    database, table = str(folder / "lmdb"), str(folder / "parquet")
    scale = Scale(factor=1 / 256)
    return {
        STEP: partial(step, replica, batch, itertools.count(1)),
        "LMDB": partial(ours, LMDB(database)),
        "LMDB, scaled": partial(ours, LMDB(database, transforms=[scale])),
        LOOP: partial(by_hand, database),
        "Parquet": partial(read, Parquet(table)),
        ARROW: partial(by_arrow, next(Path(table).iterdir())),
    }


def in_turns(sides, turns):
    """Returns {name: [records/s]}; each turn starts with another side, the first is dropped."""
    found, names = {name: [] for name in sides}, list(sides)
    for turn in range(turns + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            speed = speed_of(sides[name])
            if turn:
                found[name].append(speed)
    return found


def speed_of(run):
    """Returns records/s over as many passes as fill a turn."""
    count, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < TURN:
        count += run()
    return count / passed


def step(replica, batch, updates):
    """Trains one step; returns its number of examples."""
    replica.step(batch, 1e-4, next(updates))
    return len(batch)


def ours(source):
    """Reads a source in minibatches, as workers do; returns the number of records."""
    count, transform = 0, source.transform
    for batch in batches(source):
        for start in range(0, len(batch), BATCH):
            minibatch = batch.take(slice(start, start + BATCH))
            count += len(minibatch if transform is None else transform(minibatch))
    return count


def read(source):
    """Reads a source's Batches; returns the number of records."""
    return sum(map(len, batches(source)))


def batches(source):
    """Yields the Batches of all splits, checked for the network."""
    schema = schema_of(CONF, transform=source.transform)
    for split in source.splits():
        yield from check_batches(source.read, split, schema)


FIELDS = ("channels", 1), ("height", 2), ("width", 3), ("data", 4), ("label", 5)
Datum = messages(
    "bench.datum", {"Datum": [(name, n, "bytes" if n == 4 else "int32") for name, n in FIELDS]}
)["Datum"]


def by_hand(path):
    """Parses, converts and stacks an LMDB's records; returns their number."""
    count, images, labels = 0, [], []
    with lmdb.open(path, readonly=True, lock=False) as environment, environment.begin() as reading:
        for _, value in reading.cursor():
            datum = Datum.FromString(value)
            shape = datum.channels, datum.height, datum.width
            images.append(np.frombuffer(datum.data, np.uint8).reshape(shape))
            labels.append(datum.label)
            if len(images) == BATCH:
                count += len(Batch.of(np.stack(images), np.array(labels)))
                images, labels = [], []
    return count + len(images)


def by_arrow(path):
    """Reads pyarrow's record batches only; returns the number of records."""
    with pq.ParquetFile(path) as file:
        return sum(table.num_rows for table in file.iter_batches(4096))


if __name__ == "__main__":
    main()
