"""Networks split into parts, one thread each: gradients equal the whole network's."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from sparkdl.nn import (
    Activation,
    Adam,
    Dense,
    Dropout,
    GraphBuilder,
    LearnedSelfAttention,
    MultiHeadAttention,
    NetworkConf,
    Output,
    RnnOutput,
    SelfAttention,
    zoo,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.split_network import SplitNetwork
from sparkdl.nn.execution.split_replica import SplitReplica
from sparkdl.nn.networks.layer_splits import layer_splits
from sparkdl.nn.optimization.network_part import slots_part
from tests.nn.execution.test_stage_replica import NETWORKS as OTHERS
from tests.nn.execution.test_stage_replica import examples, small


class Threads:
    """A group of threads: each contributes an array, and all sum them in the same order."""

    def __init__(self, size):
        self.barrier, self.arrays, self.size = Barrier(size, timeout=60), [None] * size, size

    def member(self, rank):
        return Member(self, rank)

    def meet(self, rank, x):
        self.arrays[rank] = np.array(x)
        self.barrier.wait()
        found = list(self.arrays)
        self.barrier.wait()
        return found


class Member:
    def __init__(self, threads, rank):
        self.threads, self.rank, self.size = threads, rank, threads.size

    def all_reduce(self, x, how="sum"):
        x[...] = getattr(np, how)(self.threads.meet(self.rank, x), axis=0)
        return x

    def all_gather(self, x):
        return np.stack(self.threads.meet(self.rank, x))


def mlp():
    layers = [
        Dense(units=8, activation="relu"),
        Dropout(rate=0.3),
        Activation("tanh"),
        Dense(units=6, activation="tanh"),
        Dense(units=4, activation="softmax"),
        Dense(units=12),
        Dense(units=5),
        Output(units=4),
    ]
    return NetworkConf(
        input_shape=(5,), layers=layers, optimizer=Adam(learning_rate=0.01), l2=0.1, seed=3
    )


def ignoring():
    loss = {"type": "softmax_cross_entropy", "ignore_label": 2}
    layers = [Dense(units=8), SelfAttention(heads=4, dropout=0.3), RnnOutput(units=4, loss=loss)]
    return NetworkConf(input_shape=(6, 8), layers=layers, seed=2)


def smoothed():
    """Each worker needs all classes: the loss is no plain cross entropy."""
    loss = {"type": "softmax_cross_entropy", "label_smoothing": 0.1, "focal_gamma": 2.0}
    return NetworkConf(input_shape=(5,), layers=[Output(units=4, loss=loss)], seed=2)


def values():
    layers = [Dense(units=8, bias=False), Dense(units=4, optimizer=Adam(learning_rate=0.1))]
    return NetworkConf(input_shape=(5,), layers=[*layers, Output(units=4, loss="mse")], seed=2)


def attentive():
    build = GraphBuilder(x=(6, 8), y=(6, 4))
    build.add(MultiHeadAttention(heads=4, causal=True), "x", "y", name="cross")
    build.add(LearnedSelfAttention(queries=3, heads=4, head_size=2, units=5), "cross", name="sum")
    build.add(Dense(units=8, activation="relu"), "sum", name="wide")
    build.add(RnnOutput(units=2), "wide", name="end")
    return build.conf()


NETWORKS = OTHERS | {
    "mlp": mlp,
    "values": values,
    "classes ignored": ignoring,
    "classes smoothed": smoothed,
    "attention": attentive,
    "resnet18": lambda: small(zoo.resnet18(classes=8), features=(3, 32, 32)),
}
SPLITS = {
    "mlp": {
        "dense_1": "columns",
        "dropout_1": "inside",
        "activation_1": "inside",
        "dense_2": "rows",
        "dense_4": "columns",
        "dense_5": "rows",
        "output_1": "columns, softmax over them",
    },
    "classes smoothed": {"output_1": "columns, gathered"},
    "values": {"dense_1": "columns", "dense_2": "rows", "output_1": "columns, gathered"},
}


def run_parts(conf, parts, work):
    """Returns `work(replica)` of each part, run in concurrent threads."""
    whole, threads = Replica(conf, "reference"), Threads(parts)
    replicas = []
    for rank in range(parts):
        network = SplitNetwork(conf, threads.member(rank))
        vectors = network.part.take(whole.params), slots_part(conf, network.part).take(whole.slots)
        member = threads.member(rank)
        replicas.append(SplitReplica(conf, member, *vectors, whole.buffers))
    with ThreadPoolExecutor(parts) as pool:
        return replicas, list(pool.map(work, replicas))


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_the_whole_network(name, parts):
    conf = NETWORKS[name]()
    batch, whole = examples(name, conf), Replica(conf)
    loss, _ = whole.gradient(batch, epoch=1)
    replicas, losses = run_parts(conf, parts, lambda replica: replica.gradient(batch, epoch=1))
    assert [found for found, _ in losses] == pytest.approx([loss] * parts, rel=1e-5)
    for replica in replicas:
        expected = replica.conf.part.take(whole.grad)
        assert np.abs(replica.grad - expected).max() <= 2e-6 * max(1, np.abs(expected).max())
        common = replica.conf.common
        assert np.array_equal(common.take(replica.grad), common.take(replicas[0].grad))


@pytest.mark.parametrize("name", SPLITS)
def test_columns_are_followed_by_rows(name):
    conf = NETWORKS[name]()
    splits = {layer: split.value for layer, split in layer_splits(conf, 2).items()}
    assert splits == SPLITS[name]
