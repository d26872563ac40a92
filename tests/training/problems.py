"""Small data sets and networks for training tests, and their gradients by hand."""

from dataclasses import replace

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.source import Split
from sparkdl.nn import BatchNorm, Dense, Dropout, GraphBuilder, Merge, NetworkConf, Output, Sgd
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import first_state

EVEN, UNEVEN = [30, 30], [41, 0, 3, 15, 1]  # records in each partition


class Partitions:
    """A source with the given number of records in each partition, possibly 0."""

    transform = None

    def __init__(self, counts, seed=2, features=4, classes=3):
        rng, total = np.random.default_rng(seed), sum(counts)
        self.counts = counts
        self.features = rng.normal(size=(total, features)).astype(np.float32)
        self.labels = (self.features[:, :classes] + rng.normal(size=(total, classes))).argmax(1)

    def splits(self):
        return [Split(partition=i, count=n) for i, n in enumerate(self.counts)]

    def read(self, split):
        start = sum(self.counts[: split.partition])
        part = slice(start, start + split.count)
        yield Batch.of(self.features[part], self.labels[part], partition=split.partition)


def softmax_net(**options):
    return NetworkConf(**{"input_shape": (4,), "layers": [Output(units=3)], "seed": 3} | options)


def perceptron(**options):
    layers = [Dense(units=5, activation="tanh"), Output(units=3)]
    return softmax_net(**{"layers": layers, "optimizer": Sgd(learning_rate=0.3)} | options)


def whole_net(**options):
    """Returns a network that also has buffers and random numbers."""
    layers = [Dense(units=5), BatchNorm(), Dropout(rate=0.3), Output(units=3)]
    return perceptron(layers=layers, **options)


def run(master, workers, data, conf, rounds=None, epochs=1, transform=None):
    """Runs rounds of a master; returns (states after each, reports, blocks)."""
    master = replace(master, seed=conf.seed if master.seed is None else master.seed)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    states, reports = [replace(first_state(conf), seed=master.seed)], []
    while states[-1].epoch < epochs or (rounds and len(reports) < rounds):
        for state, report in master.epoch(workers, conf, blocks, states[-1], transform):
            states.append(state)
            reports.append(report)
            if len(reports) == rounds:
                break
    return states[1:], reports, blocks


def gradient(conf, vector, x, labels):
    """Returns (mean loss, gradient with l2 on weights) at a vector, by hand in float64.

    For softmax regression, optionally with one hidden tanh layer before it.
    """
    p, g, n = conf.params_layout.views(vector), {}, len(labels)
    deep = "dense_1/W" in p
    h = np.tanh(x @ p["dense_1/W"] + p["dense_1/b"]) if deep else x.astype(float)
    z = h @ p["output_1/W"] + p["output_1/b"]
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    gz = (np.exp(log_p) - np.eye(z.shape[1])[labels]) / n
    g["output_1/W"], g["output_1/b"] = h.T @ gz, gz.sum(axis=0)
    if deep:
        gh = gz @ p["output_1/W"].T * (1 - h**2)
        g["dense_1/W"], g["dense_1/b"] = x.T @ gh, gh.sum(axis=0)
    decayed = {name: g[name] + conf.l2 * p[name] * name.endswith("/W") for name in p}
    return -log_p[np.arange(n), labels].mean(), conf.params_layout.vector(decayed, np.float64)


def averaging(**options):
    return ParameterAveraging(
        **{"aggregation": "driver", "batch_size_per_worker": 4, "averaging_frequency": 1} | options
    )


def rounds_of(master, workers, blocks, state, count):
    """Returns [(epoch, blocks of a round)] for the first `count` rounds."""
    found = []
    while len(found) < count:
        found += [(state.epoch, chosen) for chosen in master.plan(workers, blocks, state)]
        state = replace(state, epoch=state.epoch + 1)
    return found[:count]


def branches():
    """Returns a network of two inputs and two outputs."""
    build = GraphBuilder(left=(2,), right=(3,))
    build.add(Dense(units=4, activation="tanh"), "left", name="dense")
    build.add(Merge(), "dense", "right", name="both")
    build.add(Output(units=2), "both", name="kind")
    build.add(Output(units=1, loss="mse"), "both", name="size")
    return build.conf(seed=3)
