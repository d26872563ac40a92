"""Adult's incomes: DeepFM, with numeric columns also as ids, and xgboost."""

import numpy as np
from sklearn.metrics import roc_auc_score

from sparkdl import AdaGrad, AllReduceSGD, Batch, LocalWorkers, Network, zoo
from tests.benchmarks.table_quality.data_sets import read_table
from tests.benchmarks.table_quality.xgboost_side import score_by_xgboost

NUMBERS = "age", "educational-num", "capital-gain", "capital-loss", "hours-per-week", "fnlwgt"
LABEL, YES = "income", ">50K"
EPOCHS, SHARE = 5, 0.8
MASTER = AllReduceSGD(batch_size_per_worker=256)
OPTIMIZER = AdaGrad(learning_rate=0.02, weight_decay=0.02)


def areas():
    """Returns the ROC AUCs of sparkdl and of xgboost with defaults."""
    numbers, words, labels = read_records()
    order = np.random.default_rng(0).permutation(len(labels))
    trained, held_out = np.split(order, [int(SHARE * len(order))])
    ours = score(numbers, words, labels, trained, held_out)
    given = np.concatenate([numbers, np.stack([*words.values()], 1)], 1)
    theirs = score_by_xgboost(given, labels, trained, held_out)
    return tuple(roc_auc_score(labels[held_out], scores) for scores in (ours, theirs))


def read_records():
    """Returns numbers (n, 6), {column: ids (n,)} of text columns, and labels (n,)."""
    table = read_table("adult")
    labels = np.array([text == YES for text in table.column(LABEL).to_pylist()], np.int64)
    numbers = np.stack([table.column(name).to_numpy() for name in NUMBERS], 1).astype(np.float32)
    names = [name for name in table.schema.names if name not in (*NUMBERS, LABEL)]
    return numbers, {name: ids_of(table.column(name).to_pylist()) for name in names}, labels


def ids_of(values):
    """Returns an id for each distinct value."""
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64)


def score(numbers, words, labels, trained, held_out):
    """Returns DeepFM's probabilities for the held-out records."""
    scaled = np.concatenate([numbers[:, :2], np.log1p(numbers[:, 2:])], 1)
    scaled = (scaled - scaled[trained].mean(0)) / scaled[trained].std(0)
    ids = {name.replace("-", "_"): column for name, column in words.items()}
    for name, column in zip(NUMBERS, numbers.T, strict=True):
        key, bounds = name.replace("-", "_"), np.quantile(column[trained], np.linspace(0, 1, 32))
        ids[f"{key}_range"] = np.searchsorted(np.unique(bounds[1:-1]), column, side="right")
        if name != "fnlwgt":  # nearly all its values are distinct
            ids[f"{key}_value"] = ids_of(column)
    columns = {name: column.astype(np.int64)[:, None] for name, column in ids.items()}
    columns["numbers"] = scaled.astype(np.float32)
    conf = zoo.deep_fm(tuple(ids), len(NUMBERS), units=(128, 64), optimizer=OPTIMIZER, seed=1)
    network = Network(conf)
    given = {name: column[trained] for name, column in columns.items()}
    given["labels"] = labels[trained]
    batch = Batch(columns=given, ids=np.arange(len(trained), dtype=np.uint64))
    network.fit(batch, EPOCHS, MASTER, LocalWorkers(1))
    return network.predict({name: column[held_out] for name, column in columns.items()})[:, 0]
