"""sparkdl's side: one workload."""

import sys
from functools import partial
from itertools import count, cycle

import numpy as np

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.nn import AdaGrad, Sgd
from sparkdl.nn.execution.replica import make_replica
from sparkdl.zoo import dlrm, wide_deep
from tests.benchmarks.cpu.worker import serve
from tests.benchmarks.tables.workloads import FIELDS, NUMBERS, RATE, WORKLOADS

OPTIMIZERS = {"sgd": Sgd, "adagrad": AdaGrad}


def configuration(workload):
    options = {"dimension": workload.dimension, "fields": FIELDS, "numbers": NUMBERS}
    options["optimizer"] = OPTIMIZERS[workload.optimizer](learning_rate=RATE)
    if workload.network == "dlrm":
        return dlrm(bottom=workload.bottom, top=workload.hidden, **options)
    return wide_deep(units=workload.hidden, **options)


def training(workload):
    """Returns (step, facts) of training a network."""
    replica = make_replica(configuration(workload))
    replica.load_tables({})
    batches = cycle([batch_of(*record) for record in workload.records()])
    updates, rate = count(1), replica.conf.rate_at(0, 0)

    def step():
        replica.step(next(batches), rate, next(updates))

    return step, {"parameters": replica.conf.parameter_count}


def batch_of(ids, numbers, labels):
    columns = {name: np.ascontiguousarray(ids[:, i]) for i, name in enumerate(FIELDS)}
    columns |= {"numbers": numbers, "labels": labels.astype(np.float32)}
    return Batch(columns=columns, ids=record_ids(0, 0, len(ids)))


if __name__ == "__main__":
    serve(partial(training, WORKLOADS[sys.argv[1]]))
