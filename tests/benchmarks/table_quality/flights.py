"""Delays of three million flights: DeepFM on crossed columns, and xgboost."""

import time
from itertools import combinations

import numpy as np
from sklearn.metrics import roc_auc_score

from sparkdl import AdaGrad, AllReduceSGD, Batch, LocalWorkers, Network, zoo
from tests.benchmarks.table_quality.data_sets import read_flights
from tests.benchmarks.table_quality.xgboost_side import score_by_xgboost

LATE = 15  # minutes from which U.S. statistics count a flight as late
EPOCHS, SHARE = 2, 0.8
MASTER = AllReduceSGD(batch_size_per_worker=1024)
OPTIMIZER = AdaGrad(learning_rate=0.05)
CATEGORIES = "origin", "destination"


def areas():
    """Returns the ROC AUCs of sparkdl and of xgboost, and our flights/s."""
    columns, distance, labels = read_records()
    order = np.random.default_rng(0).permutation(len(labels))
    trained, held_out = np.split(order, [int(SHARE * len(order))])
    ours, rate = score(columns, distance, labels, trained, held_out)
    given = np.stack([*columns.values(), distance], 1).astype(np.float32)
    names = [*columns]
    theirs = [
        score_by_xgboost(given, labels, trained, held_out, kinds)
        for kinds in ((), tuple(map(names.index, CATEGORIES)))
    ]
    areas = [roc_auc_score(labels[held_out], scores) for scores in (ours, *theirs)]
    return areas[0], max(areas[1:]), rate


def read_records():
    """Returns {column: integers (n,)}, distances (n,), labels (n,): whether it was late."""
    table = read_flights()
    moments = np.array(table.column("date").to_pylist(), "S8").view("S2").reshape(-1, 4).astype(int)
    month, day, hour, minute = moments.T
    starts = np.cumsum([0, 31, 28, 31, 30, 31])  # of months of 2001, whose first day was a Monday
    date = starts[month - 1] + day - 1
    columns = {"date": date, "weekday": date % 7, "minute": 60 * hour + minute}
    for name in CATEGORIES:
        columns[name] = np.unique(table.column(name).to_numpy(), return_inverse=True)[1]
    late = table.column("delay").to_numpy() >= LATE
    return columns, table.column("distance").to_numpy(), late.astype(np.int64)


def score(columns, distance, labels, trained, held_out):
    """Returns DeepFM's probabilities for held-out flights, and its training speed in flights/s."""
    ids = cross(columns)
    scaled = (distance - distance[trained].mean()) / distance[trained].std()
    given = ids | {"numbers": scaled.astype(np.float32)[:, None]}
    conf = zoo.deep_fm(tuple(ids), 1, units=(64, 32), optimizer=OPTIMIZER, seed=1)
    network = Network(conf)
    known = {name: column[trained] for name, column in given.items()}
    batch = Batch(
        columns=known | {"labels": labels[trained]}, ids=np.arange(len(trained), dtype=np.uint64)
    )
    start = time.perf_counter()
    network.fit(batch, EPOCHS, MASTER, LocalWorkers(1))
    rate = EPOCHS * len(trained) / (time.perf_counter() - start)
    predicted = network.predict({name: column[held_out] for name, column in given.items()})
    return predicted[:, 0], rate


def cross(columns):
    """Returns {name: ids (n, 1)} of columns and their crosses."""
    parts = {name: columns[name] for name in ("date", "weekday", *CATEGORIES)}
    parts |= {"hour": columns["minute"] // 60, "quarter": columns["minute"] // 15}
    crossed = {*combinations(("date", "hour", *CATEGORIES), 2), ("weekday", "quarter")}
    crossed |= {("date", "hour", name) for name in CATEGORIES} | {("quarter", *CATEGORIES)}
    names = [*((name,) for name in parts), *sorted(crossed)]
    return {"_".join(each): number([parts[name] for name in each])[:, None] for each in names}


def number(columns):
    """Returns one integer (n,) for each combination of several integer columns."""
    sizes = [column.max() + 1 for column in columns]
    return np.ravel_multi_index(columns, sizes).astype(np.int64)
