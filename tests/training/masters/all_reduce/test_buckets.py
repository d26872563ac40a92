"""Boundaries of the gradient's buckets, and when each is exchanged."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import Dense, Output
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.masters.all_reduce.buckets import Buckets, cut_buckets
from sparkdl.training.masters.all_reduce.device_buckets import DeviceBuckets
from tests.training.problems import perceptron

LAYOUT = {"a": slice(0, 10), "b": slice(10, 12), "c": slice(12, 13), "d": slice(13, 50)}


@pytest.mark.parametrize(
    "size, parts",
    [
        (1, [(13, 50), (12, 13), (10, 12), (0, 10)]),
        (3, [(13, 50), (10, 13), (0, 10)]),
        (38, [(12, 50), (0, 12)]),
        (50, [(0, 50)]),
        (51, [(0, 50)]),
    ],
)
def test_neighbors_share_a_bucket_from_the_end_on(size, parts):
    owners, found = cut_buckets(LAYOUT, size)
    assert found == [slice(*part) for part in parts]
    for name, place in owners.items():
        whole, part = found[place], LAYOUT[name]
        assert whole.start <= part.start and part.stop <= whole.stop


def test_without_parameters_there_is_no_bucket():
    assert cut_buckets({}, 5) == ({}, [])


class Alone:
    """A group of one; records bucket lengths, and how much of the gradient is not yet final."""

    size, rank = 1, 0

    def __init__(self, grad):
        self.grad, self.given, self.missing = grad, [], []

    def start_all_reduce(self, x):
        if x.base is not None and np.shares_memory(x, self.grad):
            self.given.append(len(x))
            self.missing.append(int(np.isnan(self.grad).sum()))
        return self

    def wait(self):
        pass


def worker_of(conf):
    replica = Replica(conf)
    parts = {"replica": replica, "group": Alone(replica.grad), "exchanging": nullcontext}
    return SimpleNamespace(conf=conf, **parts)


def test_a_bucket_leaves_while_the_rest_is_computed(rng):
    layers = [Dense(units=7, activation="tanh"), Dense(units=6), Output(units=3)]
    conf = perceptron(layers=layers)
    worker = worker_of(conf)
    replica, group = worker.replica, worker.group
    batch = Batch.of(rng.normal(size=(5, 4)).astype(np.float32), rng.integers(0, 3, 5))
    replica.gradient(batch)
    expected, buckets = replica.grad.copy(), Buckets(worker, 1)
    replica.grad[:] = np.nan
    buckets.begin(5)
    replica.gradient(batch, after=buckets.when_final(5, None))
    sizes = [part.stop - part.start for part in conf.params_layout.slices.values()]
    assert group.given == sizes[::-1]
    assert group.missing == sorted(group.missing, reverse=True)
    assert group.missing[0] >= sum(sizes[:2]) and group.missing[-1] == 0
    buckets.end()
    np.testing.assert_allclose(replica.grad, expected, rtol=1e-6)


def test_a_worker_without_data_gives_zeros():
    worker = worker_of(perceptron())
    replica, group, buckets = worker.replica, worker.group, Buckets(worker, 60)
    replica.grad[:] = 3
    buckets.begin(0)
    buckets.add_zeros()
    assert not replica.grad.any() and sum(group.given) == len(replica.grad)


class Devices(Alone):
    """A group of devices that records the requested sums."""

    def __init__(self, grad):
        super().__init__(grad)
        self.sums, self.joined = [], 0

    def keep(self, name, weight):
        self.sums.append(("keep", weight))

    def add_up(self, name, part, factor, share, mark):
        self.sums.append((part.start, part.stop, factor, share, mark))

    def join_in(self):
        self.joined += 1


def test_buckets_on_a_device_begin_in_one_order_when_they_are_final():
    worker = worker_of(perceptron(layers=[Dense(units=7), Dense(units=6), Output(units=3)]))
    worker.group = Devices(worker.replica.grad)
    buckets = DeviceBuckets(worker, 100)
    parts = [(part.start, part.stop) for part in buckets._slices]
    assert len(parts) == 3

    def gradient(step, queued):
        assert sorted(name for names, _ in queued for name in names) == sorted(buckets._owners)
        for place in (1, 0, 2):  # the second bucket is final first
            queued[place][1](f"mark {place}")

    worker.gradient = gradient
    buckets.begin(8)
    buckets.keep(2)
    buckets.last("a step", 6)
    buckets.end()
    sums = [(*part, 0.75, 0.125, f"mark {i}") for i, part in enumerate(parts)]
    assert worker.group.sums == [("keep", 2), *sums]
    assert worker.group.joined == 1
