"""Pushes and pulls on a server in each mode, without sockets or processes."""

import time
import weakref

import numpy as np
import pytest

from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.store.server.options import StoreOptions
from sparkdl.exchange.store.server.shard import Shard
from tests.exchange.store.threads import LIMIT, start, together

N = 5


def add(key, value, gradient, slots):
    value += gradient


def shard_of(size=3, update=add, **options):
    shard = Shard(StoreOptions(**{"stall_timeout": 10.0} | options), size)
    if update:
        shard.set_optimizer(update)
    shard.init(0, "w", np.zeros(N, np.float32))
    return shard


def ones(number=1.0, dtype=np.float32):
    return np.full(N, number, dtype)


def held(future):
    """Returns whether the future is still pending after a moment."""
    time.sleep(0.05)
    return not future.done()


# sync


@pytest.mark.slow
def test_a_step_waits_for_all():
    shard = shard_of(size=3)
    shard.push(0, "w", ones(1))
    shard.push(1, "w", ones(2))
    pulled = start(shard.pull, 0, "w")
    assert held(pulled)
    assert not shard.push(2, "w", ones(3)).dropped
    assert pulled.result(LIMIT).value.tolist() == [6.0] * N


def test_who_has_not_pushed_does_not_wait():
    shard = shard_of(size=3)
    shard.push(0, "w", ones())
    assert shard.pull(1, "w").value.tolist() == [0.0] * N


def test_a_second_push_waits_for_the_step_before():
    shard = shard_of(size=2)
    shard.push(0, "w", ones(1))
    second = start(shard.push, 0, "w", ones(10))
    assert held(second)
    shard.push(1, "w", ones(2))
    second.result(LIMIT)
    assert shard.pull(1, "w").value.tolist() == [3.0] * N
    shard.push(1, "w", ones(20))
    assert shard.pull(1, "w").value.tolist() == [33.0] * N


def test_sums_have_the_same_bits_whatever_the_order():
    values = [np.random.default_rng(i).normal(size=N).astype(np.float32) for i in range(4)]
    results = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        shard = shard_of(size=4)
        for rank in order:
            shard.push(rank, "w", values[rank].copy())
        results.append(shard.pull(0, "w").value.tobytes())
    assert len(set(results)) == 1


def test_without_an_optimizer_a_step_replaces_the_value():
    shard = shard_of(size=2, update=None)
    for step in (1, 2):
        for rank in range(2):
            shard.push(rank, "w", ones(step))
    assert shard.pull(0, "w").value.tolist() == [4.0] * N


def test_the_mean_is_that_over_weights():
    shard = shard_of(size=3, combine="mean")
    for rank, weight in enumerate((2.0, 6.0, 0.0)):
        shard.push(rank, "w", ones(weight * rank), weight)
    assert shard.pull(0, "w").value.tolist() == [0.75] * N


def test_a_mean_of_nothing_changes_nothing():
    shard = shard_of(size=2, combine="mean")
    for rank in range(2):
        shard.push(rank, "w", ones(0), 0.0)
    assert shard.pull(0, "w").value.tolist() == [0.0] * N


# backup workers


def test_who_comes_late_is_dropped_and_counted_until_it_has_pulled():
    shard = shard_of(size=3, backup=1)
    for _ in range(2):
        for rank in (0, 1):
            assert shard.push(rank, "w", ones()) == (False, 0)
        assert shard.pull(0, "w").value[0] == shard.pull(1, "w").value[0]
    assert shard.push(2, "w", ones(100)) == (True, 2)
    assert shard.push(2, "w", ones(100)) == (True, 2)
    assert shard.pull(2, "w").value.tolist() == [4.0] * N
    assert not shard.push(2, "w", ones(10)).dropped
    shard.push(0, "w", ones(10))
    assert shard.pull(2, "w").value.tolist() == [24.0] * N
    counts = shard.tally.to_dict()
    assert (counts["pushes"], counts["dropped"], counts["staleness"]) == (8, 2, {0: 6})


# workers that leave


@pytest.mark.parametrize("pushed", [False, True])
def test_nobody_waits_for_who_has_left(pushed):
    shard = shard_of(size=3)
    if pushed:
        shard.push(2, "w", ones(100))
    for rank in (0, 1):
        shard.push(rank, "w", ones())
    pulled = start(shard.pull, 0, "w")
    assert pushed or held(pulled)
    shard.leave(2)
    assert pulled.result(LIMIT).value[0] == 2.0 + 100 * pushed
    shard.push(0, "w", ones())
    shard.push(1, "w", ones())
    assert shard.pull(0, "w").value[0] == 4.0 + 100 * pushed


def test_the_bound_does_not_count_who_has_left():
    shard = shard_of(size=2, mode="bounded", staleness=1)
    for _ in range(2):
        shard.push(0, "w", ones())
    pulled = start(shard.pull, 0, "w")
    assert held(pulled)
    shard.leave(1)
    assert pulled.result(LIMIT).value[0] == 2.0


@pytest.mark.parametrize("options", [{}, {"mode": "bounded"}], ids=["sync", "bounded"])
def test_who_rests_is_not_waited_for_and_comes_back_as_far_as_the_others(options):
    shard = shard_of(size=2, **options)
    shard.leave(1)
    for _ in range(3):
        shard.push(0, "w", ones())
        shard.pull(0, "w")
    shard.leave(0)
    for rank in range(2):
        assert shard.pull(rank, "w").version == 3
        shard.resume(rank)
    assert not shard.push(0, "w", ones()).dropped
    pulled = start(shard.pull, 0, "w")
    assert held(pulled)
    assert not shard.push(1, "w", ones()).dropped
    assert pulled.result(LIMIT).value[0] == 5.0


@pytest.mark.slow
def test_a_barrier_waits_for_all_who_are_still_here():
    shard = shard_of(size=3)
    waiting = [start(shard.barrier, rank) for rank in (0, 1)]
    assert all(map(held, waiting))
    shard.leave(2)
    for one in waiting:
        one.result(LIMIT)
    again = start(shard.barrier, 0)
    assert held(again)
    shard.barrier(1)
    again.result(LIMIT)


# async, bounded, hogwild


@pytest.mark.parametrize("mode", ["async", "bounded", "hogwild"])
def test_each_push_counts_at_once_and_its_staleness_is_told(mode):
    shard = shard_of(size=2, mode=mode)
    shard.pull(1, "w")
    assert [shard.push(0, "w", ones()).staleness for _ in range(2)] == [0, 1]
    assert shard.push(1, "w", ones()).staleness == 2
    shard.leave(0)
    assert shard.pull(1, "w").value[0] == 3.0
    assert shard.push(1, "w", ones()).staleness == 0
    assert shard.tally.to_dict()["staleness"] == {0: 2, 1: 1, 2: 1}


@pytest.mark.parametrize("mode", ["async", "bounded", "hogwild"])
def test_an_update_may_be_told_how_many_of_others_its_worker_has_not_seen(mode):
    told, shard = [], shard_of(size=2, mode=mode, update=None)
    shard.set_optimizer(lambda *arguments: told.append(arguments[-1].others), with_context=True)
    for rank in (0, 0, 1, 0, 1):
        shard.push(rank, "w", ones())
    shard.leave(1)  # no one waits for it
    shard.pull(0, "w")
    shard.push(0, "w", ones())
    assert told == [0, 0, 2, 1, 3, 0]


def test_an_update_may_be_told_the_staleness():
    def scaled(key, value, gradient, slots, about):
        value += gradient / (1 + about.staleness)

    shard = shard_of(size=2, mode="async", update=None)
    shard.set_optimizer(scaled, with_context=True)
    for _ in range(3):
        shard.push(0, "w", ones(6))
    assert shard.pull(0, "w").value[0] == 6 + 3 + 2


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_nobody_gets_ahead_by_more_than_the_bound(staleness):
    shard = shard_of(size=2, mode="bounded", staleness=staleness)
    for _ in range(staleness):
        shard.push(0, "w", ones())
        shard.pull(0, "w")
    shard.push(0, "w", ones())
    pulled = start(shard.pull, 0, "w")
    assert held(pulled)
    shard.push(1, "w", ones())
    assert pulled.result(LIMIT).value[0] == staleness + 2


@pytest.mark.parametrize("mode", ["async", "bounded", "hogwild"])
def test_many_push_at_the_same_time(mode):
    shard = shard_of(size=4, mode=mode, staleness=0)

    def work(rank):
        for _ in range(50):
            shard.push(rank, "w", ones())
            shard.pull(rank, "w")
        shard.leave(rank)

    together(4, work)
    counts = shard.tally.to_dict()
    assert counts["pushes"] == 200 == sum(counts["staleness"].values())
    assert mode == "hogwild" or shard.pull(0, "w").value[0] == 200.0


@pytest.mark.parametrize("mode", ["async", "bounded", "hogwild"])
def test_a_pulled_value_stays_as_it_was_while_it_is_sent(mode):
    """Else the checksums of frames do not fit the bytes that follow them."""
    shard = shard_of(mode=mode)
    pulled = shard.pull(0, "w")
    shard.push(1, "w", ones())
    assert pulled.value.tolist() == [0.0] * N
    assert shard.pull(0, "w").value.tolist() == [1.0] * N


@pytest.mark.parametrize("mode", ["async", "bounded", "hogwild"])
def test_other_modes_need_an_optimizer(mode):
    with pytest.raises(ConfigError, match="call set_optimizer"):
        shard_of(mode=mode, update=None).push(0, "w", ones())


# errors


def test_a_lost_worker_ends_all_waits_with_one_error():
    shard = shard_of(size=3)
    shard.push(0, "w", ones())
    waiting = [start(shard.pull, 0, "w"), start(shard.barrier, 1)]
    assert all(map(held, waiting))
    shard.fail(PeerError(2, "there", "hung up"))
    shard.fail(PeerError(1, "here", "has lost rank 2"))
    for one in waiting:
        with pytest.raises(PeerError, match="rank 2 on there: hung up"):
            one.result(LIMIT)
    with pytest.raises(PeerError, match="rank 2 on there: hung up"):
        shard.push(1, "w", ones())


@pytest.mark.slow
def test_patience_ends():
    shard = shard_of(size=3, stall_timeout=0.1)
    shard.push(0, "w", ones())
    with pytest.raises(PeerError, match=r"pushes to 'w' in step 0 of ranks \[1, 2\], who are al"):
        shard.pull(0, "w")
    with pytest.raises(PeerError, match=r"the barrier of ranks \[1, 2\]"):
        shard.barrier(0)


def test_who_is_waited_for_is_named_with_its_own_host():
    shard = shard_of(size=2, stall_timeout=0.1)
    server = shard.roster.host
    for host in ("an unknown host", "10.0.0.7"):
        with pytest.raises(PeerError, match=f"rank 1 on {host}: the server on {server} waited 0.1"):
            shard.barrier(0)
        shard.roster.hosts[1] = "10.0.0.7"


def test_a_closed_store_holds_its_optimizer_no_longer():
    def update(key, value, gradient, slots):
        raise AssertionError("an update of a closed store")

    shard, optimizer = shard_of(size=2, update=update), weakref.ref(update)
    del update
    assert optimizer() is not None
    shard.close(PeerError(0, "here", "has closed the store"))
    assert optimizer() is None
    with pytest.raises(PeerError, match="has closed the store"):
        shard.push(0, "w", ones())


def test_an_update_that_fails_ends_the_store():
    def broken(key, value, gradient, slots):
        raise ZeroDivisionError("no")

    shard = shard_of(size=2, update=broken)
    shard.push(0, "w", ones())
    pulled = start(shard.pull, 0, "w")
    with pytest.raises(PeerError, match="the update of 'w' failed: ZeroDivisionError: no"):
        shard.push(1, "w", ones())
    with pytest.raises(PeerError, match="the update of 'w' failed"):
        pulled.result(LIMIT)


REFUSED = [
    (lambda s: s.push(0, "v", ones()), "key must have a value, got 'v'; there are \\['w'\\]"),
    (lambda s: s.pull(0, "v"), "key must have a value"),
    (lambda s: s.push(0, "w", ones(dtype=np.float64)), "must have \\(5,\\) of float32, got"),
    (lambda s: s.push(0, "w", ones()[:3]), "got \\(3,\\) of float32"),
    (lambda s: s.push(0, "w", ones(), coded=True), "set_compression must be called"),
    (lambda s: s.init(0, "w", ones()), "key 'w' must be new"),
    (lambda s: s.init(0, "b", np.ones(3, bool)), "must be a vector of floats or integers"),
    (lambda s: s.init(0, "b", np.ones((3, 2))), "got float64 of shape \\(3, 2\\)"),
    (lambda s: s.await_key(1, "w", "<f8", N), "rank 0 has 5 of <f4, rank 1 has 5 of <f8"),
    (lambda s: s.set_optimizer(3), "update must be a function"),
]


@pytest.mark.parametrize("act, message", REFUSED)
def test_what_cannot_be_is_refused_and_the_store_goes_on(act, message):
    shard = shard_of(size=1)
    with pytest.raises(ConfigError, match=message):
        act(shard)
    shard.push(0, "w", ones())
    assert shard.pull(0, "w").value[0] == 1.0


OPTIONS = [
    (
        {"mode": "fast"},
        "StoreOptions.mode must be 'sync', 'bounded', 'async' or 'hogwild', got 'fast'",
    ),
    ({"combine": "max"}, "StoreOptions.combine must be 'sum' or 'mean', got 'max'"),
    ({"staleness": 1}, "StoreOptions.staleness must be 0 in mode 'sync', got 1; it belongs to"),
    ({"mode": "async", "backup": 1}, "StoreOptions.backup must be 0 in mode 'async'"),
    ({"backup": -1}, "StoreOptions.backup must be an integer >= 0"),
    ({"big": 0}, "StoreOptions.big must be an integer >= 1"),
    ({"timeout": 0}, "StoreOptions.timeout must be a number above 0"),
    ({"stall_timeout": "1"}, "StoreOptions.stall_timeout must be a number above 0"),
]


@pytest.mark.parametrize("options, message", OPTIONS)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        StoreOptions(**options)
