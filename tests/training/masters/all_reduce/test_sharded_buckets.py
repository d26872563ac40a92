"""The peak memory of a worker with a sharded state matches the formula of its option."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import Adam, Dense, NetworkConf, Output
from sparkdl.nn.execution.paged_vector import PagedVector
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.sharding import divide_state, params_part
from sparkdl.training.network import first_state

WIDTH, DEPTH, BATCH = 128, 16, 2
CONF = NetworkConf(
    input_shape=(WIDTH,),
    layers=[*(Dense(units=WIDTH) for _ in range(DEPTH)), Output(units=2)],
    optimizer=Adam(),
    seed=1,
)
TOTAL, BUCKET, SLOTS = CONF.params_layout.size, WIDTH * (WIDTH + 1), 2
FORMULAS = {
    "optimizer": lambda n: 2 * TOTAL + SLOTS * TOTAL / n,
    "gradients": lambda n: TOTAL + 2 * BUCKET + (2 + SLOTS) * TOTAL / n,
    "parameters": lambda n: 4 * BUCKET + (2 + SLOTS) * TOTAL / n,
}


class Others:
    """A group whose other workers have no data and start from the same parameters."""

    rank = 0

    def __init__(self, size, params):
        self.size, self.params, self.now = size, params, 0

    def part(self, length):
        return slice(0, length // self.size)

    def start_all_reduce(self, x):
        return SimpleNamespace(wait=lambda: x)

    def start_reduce_scatter(self, x):
        part = x[: len(x) // self.size]
        return SimpleNamespace(wait=lambda: part)

    def start_all_gather(self, x, out):
        start = (out.ctypes.data - self.now) // 4
        out[:] = self.params[start : start + len(out)]
        return SimpleNamespace(wait=lambda: out)


def worker_of(master, size):
    """Returns a worker of `size`, and a function that counts the numbers it holds."""
    state = first_state(CONF)
    common, share = divide_state(master, CONF, state, size)
    group = Others(size, state.params)
    setup = SimpleNamespace(conf=CONF, state=common)
    replica = master.replica(setup, group, share(0))
    group.now = replica.params.ctypes.data
    worker = SimpleNamespace(conf=CONF, replica=replica, group=group, exchanging=nullcontext)
    worker.gradient = lambda step, after: replica.gradient(step.batch, after=after)
    worker.apply = lambda: replica.apply(0.1, 1)
    own = [replica.slots, *([] if replica.loans else [replica.own_params, replica.own_grad])]
    own += [getattr(replica, name) for name in ("params", "grad") if name not in replica.pages]
    kept = sum(len(vector) for vector in own)
    pages = [*replica.pages.values(), *replica.loans]
    return worker, lambda: kept + sum(page.nbytes / 4 for page in pages)


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("shard", FORMULAS)
def test_memory_falls_with_the_number_of_workers_as_the_formula_says(shard, size, rng, monkeypatch):
    master = AllReduceSGD(shard=shard, bucket_bytes=1 << 16, batch_size_per_worker=BATCH)
    worker, held = worker_of(master, size)
    strategy, most = master.strategy(worker), [0]
    acquire = PagedVector.acquire

    def watch(pages, part):
        acquire(pages, part)
        most[0] = max(most[0], held())

    monkeypatch.setattr(PagedVector, "acquire", watch)
    batch = Batch.of(rng.normal(size=(BATCH, WIDTH)).astype(np.float32), np.arange(BATCH) % 2)
    strategy._update([SimpleNamespace(batch=batch)])
    assert max(most[0], held()) == pytest.approx(FORMULAS[shard](size), rel=0.15)
    if shard == "parameters":
        assert held() == pytest.approx((2 + SLOTS) * TOTAL / size, rel=0.01)


@pytest.mark.parametrize("size", [1, 2, 3, 7, pytest.param(1000, marks=pytest.mark.slow)])
def test_each_number_has_one_owner(size):
    """This holds even with more workers than numbers in a bucket."""
    master = AllReduceSGD(shard="optimizer", bucket_bytes=1 << 12)
    parts = [params_part(master, CONF, rank, size) for rank in range(size)]
    owned = np.zeros(TOTAL, int)
    for part in parts:
        part.put(part.take(owned) + 1, owned)
    assert (owned == 1).all()
    largest = max(part.size for part in parts)
    assert largest <= TOTAL / size + 2 * (DEPTH + 1)
