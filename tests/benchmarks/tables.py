"""Steps of a network with an embedding table: from 10^5 to 10^8 ids, and beside torch.

Each record has so many ids, uniform among a fixed number of active ones, which are spread over the
range. One process, one thread; figures are CPU seconds, the median of the steps. With --torch a
row for torch.nn.EmbeddingBag(sparse=True) of 10^5 rows with the same network, batch and optimizer.

    OMP_NUM_THREADS=1 python build.py bench tables --torch
"""

import argparse
import time
from statistics import median

import numpy as np

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.nn import AdaGrad, Dense, EmbeddingBag, GraphConf, Output, Vertex
from sparkdl.nn.execution.replica import make_replica

WIDTH, DIMENSION, UNITS, CLASSES, RATE = 26, 16, 64, 2, 0.05
RANGES = 10**5, 10**6, 10**7, 10**8


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--active", type=int, default=60_000, help="ids that occur")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--torch", action="store_true", help="run torch, too")
    options = parser.parse_args(argv)
    print(
        "| ids | rows | ms a step | samples/s | bytes over the rows' own |\n|---|---|---|---|---|"
    )
    for below in RANGES:
        print(row(f"{below:.0e}", *ours(options, below)), flush=True)
    if options.torch:
        print(row("torch, 1e+05", *theirs(options, RANGES[0])), flush=True)


def row(name, seconds, rows, overhead, batch):
    share = "" if overhead is None else f"{100 * overhead:.1f} %"
    return f"| {name} | {rows} | {1000 * seconds:.2f} | {batch / seconds:.0f} | {share} |"


def batches(options, below):
    """Yields (ids, labels) of steps; each active id is in the table after the first ones."""
    rng = np.random.default_rng(1)
    active = rng.choice(below, options.active, replace=False).astype(np.int64)
    shape = options.batch, WIDTH
    for start in range(0, len(active), options.batch * WIDTH):
        yield np.resize(active[start:], shape), rng.integers(0, CLASSES, options.batch)
    for _ in range(options.steps):
        yield rng.choice(active, shape), rng.integers(0, CLASSES, options.batch)


def ours(options, below):
    bag = EmbeddingBag(name="ids", dimension=DIMENSION, width=WIDTH)
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
    for t, (ids, labels) in enumerate(batches(options, below)):
        columns = {"features": ids, "labels": labels.astype(np.int32)}
        batch = Batch(columns=columns, ids=record_ids(0, 0, len(ids)))
        start = time.process_time()
        replica.step(batch, conf.rate_at(t, 0), t + 1)
        seconds.append(time.process_time() - start)
    table = replica.tables["ids"]
    overhead = table.nbytes / (len(table) * (8 + 8 * DIMENSION)) - 1
    return median(seconds[-options.steps :]), len(table), overhead, options.batch


def theirs(options, below):
    import torch

    torch.set_num_threads(1)
    bag = torch.nn.EmbeddingBag(below, DIMENSION, mode="sum", sparse=True)
    rest = torch.nn.Sequential(
        torch.nn.Linear(DIMENSION, UNITS), torch.nn.ReLU(), torch.nn.Linear(UNITS, CLASSES)
    )
    optimizer = torch.optim.Adagrad([*bag.parameters(), *rest.parameters()], lr=RATE)
    seconds = []
    for ids, labels in batches(options, below):
        start = time.process_time()
        optimizer.zero_grad()
        scores = rest(bag(torch.from_numpy(ids)))
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels)).backward()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return median(seconds[-options.steps :]), below, None, options.batch


if __name__ == "__main__":
    main()
