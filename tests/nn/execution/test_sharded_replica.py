"""Sharded updates: each part's parameters equal those of a full update, bit for bit."""

from itertools import pairwise

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import (
    Adam,
    BatchNorm,
    Conv2DTranspose,
    Dense,
    MaxNorm,
    Momentum,
    NetworkConf,
    NonNegative,
    Output,
)
from sparkdl.nn.clipping import ClipValue
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.sharded_replica import ShardedReplica
from sparkdl.nn.optimization.network_part import NetworkPart, check_parts, slots_part
from sparkdl.nn.optimization.update import update_params
from sparkdl.nn.optimization.vector_part import VectorPart
from tests.nn.examples import CLIPPINGS, OPTIMIZERS
from tests.support.tables import for_all


def net(hidden=None, **options):
    layers = [Dense(units=37, **hidden or {}), BatchNorm(), Dense(units=11), Output(units=3)]
    return NetworkConf(**{"input_shape": (5,), "layers": layers, "seed": 2} | options)


TRANSPOSED = NetworkConf(  # norms see its weights in another shape
    input_shape=(2, 5, 5),
    layers=[Conv2DTranspose(filters=2, kernel_size=3, groups=2), Output(units=4)],
    constraints=[NonNegative()],
    seed=2,
)
GROUPS = {"optimizer": Momentum(learning_rate=0.1), "bias_optimizer": Adam(), "rate_factor": 2.0}
CONFS = [
    *(net(optimizer=one) for one in OPTIMIZERS if one.elementwise),
    net(optimizer=Adam(weight_decay=0.1), l1=0.01, l2=0.02, clipping=ClipValue(limit=0.5)),
    net(GROUPS, optimizer=Adam(), l2=0.1),
    net(GROUPS, optimizer=Adam(ema_decay=0.9), constraints=[NonNegative()]),
    net({"constraints": (NonNegative(),)}),
    TRANSPOSED,
]
WHOLE = {
    "Lars": net(optimizer=next(o for o in OPTIMIZERS if type(o).__name__ == "Lars")),
    "Lamb": net(optimizer=next(o for o in OPTIMIZERS if type(o).__name__ == "Lamb")),
    "MaxNorm": net({"constraints": (MaxNorm(limit=1.0),)}),
    "float16": net(dtype="float16"),
} | {type(one).__name__: net(clipping=one) for one in CLIPPINGS if not one.elementwise}


def parts_of(size, workers, buckets):
    """Returns each worker's VectorPart: one share of each of `buckets` buckets."""
    edges = [size * i // buckets for i in range(buckets + 1)]
    shares = [[a + (b - a) * i // workers for i in range(workers + 1)] for a, b in pairwise(edges)]
    return [VectorPart(tuple(slice(s[r], s[r + 1]) for s in shares)) for r in range(workers)]


def updated(replica, grads, conf):
    """Returns the replica after one update per gradient."""
    for t, grad in enumerate(grads):
        target = replica.own_grad if isinstance(replica, ShardedReplica) else replica.grad
        target[:] = grad
        replica.apply(conf.rate_at(t, 0), t + 1)
    return replica


def borrowing(conf, part, own, buffers, grads):
    """Returns a replica that holds its part of parameters and gradient only during an update."""
    size = conf.params_layout.size
    replica = ShardedReplica(conf, part, *own, buffers, paged=("grad",), borrows=True)
    for t, grad in enumerate(grads):
        replica.pages["grad"].acquire(slice(0, size))
        replica.grad[:] = grad
        for stretch in (slice(size // 3, size), slice(0, size // 3)):
            replica.take_gradient(stretch)
        replica.pages["grad"].release(slice(0, size))
        replica.apply(conf.rate_at(t, 0), t + 1)
    assert [page.nbytes for page in (*replica.loans, *replica.pages.values())] == [0, 0, 0]
    return replica


def check(conf):
    rng, size = np.random.default_rng(0), conf.params_layout.size
    whole = Replica(conf)
    params, slots, buffers = whole.params.copy(), whole.slots.copy(), whole.buffers.copy()
    grads = [rng.normal(size=size).astype(np.float32) for _ in range(3)]
    updated(whole, grads, conf)
    assert not np.array_equal(whole.params, params)
    for workers, buckets in ((1, 1), (2, 3), (3, 2), (4, 1), (3, 150)):
        for part in parts_of(size, workers, buckets):
            of_slots = slots_part(conf, part)
            own = part.take(params), of_slots.take(slots)
            replica = ShardedReplica(conf, part, *own, buffers)
            updated(replica, [part.take(grad) for grad in grads], conf)
            assert replica.own_params.tobytes() == part.take(whole.params).tobytes()
            assert replica.slots.tobytes() == of_slots.take(whole.slots).tobytes()
            own = part.take(params), of_slots.take(slots)
            replica = borrowing(conf, part, own, buffers, grads)
            assert replica.kept_params.tobytes() == part.take(whole.params).tobytes()
            assert replica.slots.tobytes() == of_slots.take(whole.slots).tobytes()


@pytest.mark.slow
def test_parts_of_all_workers_are_what_one_update_gives():
    for_all(CONFS, check)


def test_an_elementwise_constraint_needs_no_whole_array(rng):
    size = TRANSPOSED.params_layout.size
    params, grad = rng.normal(size=(2, size)).astype(np.float32)
    moved, is_weight = params - np.float32(0.1) * grad, np.zeros(size, bool)
    for name, where in TRANSPOSED.params_layout.slices.items():
        is_weight[where] = name.endswith("/W")
    expected = np.where(is_weight, np.maximum(moved, 0), moved)
    for part in (one for buckets in range(1, 9) for one in parts_of(size, 4, buckets)):
        network = NetworkPart(TRANSPOSED, part)
        after, _ = update_params(network, part.take(params), part.take(grad), {}, 0.1, 1)
        np.testing.assert_allclose(after, part.take(expected), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", WHOLE)
def test_what_needs_the_whole_vector_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=rf"shard must be None with .*{name}.*; leave it out"):
        check_parts(WHOLE[name], "AllReduceSGD.shard")


def test_an_update_that_fails_frees_what_it_borrowed():
    conf = net(optimizer=Adam())
    [part], whole = parts_of(conf.params_layout.size, 1, 2), Replica(conf)
    given = whole.params.copy(), whole.slots.copy(), whole.buffers
    replica = ShardedReplica(conf, part, *given, paged=("grad",), borrows=True)
    everything = slice(0, part.size)
    for broken in replica, replica.part:
        replica.pages["grad"].acquire(everything)
        replica.take_gradient(everything)
        replica.pages["grad"].release(everything)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
            name = "_update" if broken is replica else "copy"
            patch.setattr(type(broken) if name == "copy" else broken, name, no_memory)
            replica.apply(0.1, 1)
        assert [loan.nbytes for loan in replica.loans] == [0, 0]
    assert replica.kept_params.tobytes() == whole.params.tobytes()


def no_memory(*given):
    raise MemoryError


def test_who_has_no_parameters_updates_nothing():
    conf = net(optimizer=Adam())
    empty = np.empty(0, np.float32)
    replica = ShardedReplica(conf, VectorPart((slice(4, 4),)), empty, empty, Replica(conf).buffers)
    updated(replica, [empty], conf)
    assert replica.own_params.size == replica.slots.size == 0
