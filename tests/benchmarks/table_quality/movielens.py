"""MovieLens ratings by a factorization machine, over three folds."""

import numpy as np

from sparkdl import AdaGrad, AllReduceSGD, Batch, LocalWorkers, Network, zoo
from tests.benchmarks.table_quality.data_sets import read_table

FOLDS, EPOCHS, LOWEST, HIGHEST = 3, 4, 1, 5
MASTER = AllReduceSGD(batch_size_per_worker=256)
OPTIMIZER = AdaGrad(learning_rate=0.05, weight_decay=0.02)


def errors():
    """Returns the RMSE of each fold, trained on the others."""
    table = read_table("MovieLens100k_data")
    users, films, ratings = (table.column(i).to_numpy() for i in range(3))
    order = np.random.default_rng(0).permutation(len(ratings))
    parts = np.array_split(order, FOLDS)
    found = []
    for k, held_out in enumerate(parts):
        rest = np.concatenate([part for i, part in enumerate(parts) if i != k])
        mean = ratings[rest].mean()
        network = train(users[rest], films[rest], ratings[rest] - mean)
        predicted = network.predict(columns(users[held_out], films[held_out]))[:, 0] + mean
        misses = np.clip(predicted, LOWEST, HIGHEST) - ratings[held_out]
        found.append(float(np.sqrt(np.mean(misses**2))))
    return found


def train(users, films, ratings):
    conf = zoo.factorization_machine(dimension=20, task="regression", optimizer=OPTIMIZER, seed=1)
    network = Network(conf)
    given = columns(users, films) | {"labels": ratings.astype(np.float32)}
    batch = Batch(columns=given, ids=np.arange(len(ratings), dtype=np.uint64))
    network.fit(batch, EPOCHS, MASTER, LocalWorkers(1))
    return network


def columns(users, films):
    return {"user": users.astype(np.int64)[:, None], "item": films.astype(np.int64)[:, None]}
