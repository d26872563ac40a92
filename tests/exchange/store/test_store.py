"""A key-value store over sockets: all verbs, in all modes, with any number of workers."""

import threading

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, ConfigError, DataError, PeerError
from sparkdl.exchange.codecs import TwoBit
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.store import DRIVER, KeyValueStore, Places, StoreOptions, StoreServer
from tests.exchange.crew import SECRET, crew
from tests.exchange.store import work
from tests.exchange.store.crowd import TIMEOUT, in_processes, in_threads
from tests.exchange.store.threads import together
from tests.support.tables import slow

MODES = [
    {"mode": "sync"},
    {"mode": "bounded", "staleness": 1},
    {"mode": "async"},
    {"mode": "hogwild"},
]


def add(key, value, gradient, slots):
    value += gradient


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("servers", [None, [0]])
def test_steps_together_are_those_of_one_process(size, servers):
    for found in in_threads(size, work.train, servers=servers, big=work.BIG):
        assert found == work.expected(size)


@pytest.mark.parametrize("options", MODES, ids=lambda o: o["mode"])
@pytest.mark.parametrize("size", [slow(1), 2, slow(4)])
def test_nothing_is_lost(size, options):
    def count(store):
        value = np.zeros(1000, np.float64)
        store.set_optimizer(add)
        store.init("w", value)
        for _ in range(10):
            outcome = work.pushpull(store, "w", np.ones(1000), value)
            assert not outcome.dropped and outcome.staleness >= 0
        store.barrier()
        store.pull("w", value)
        return value, store.statistics()

    exact = options["mode"] != "hogwild"
    for value, counts in in_threads(size, count, big=100, **options):
        assert not exact or value.tolist() == [10.0 * size] * 1000
        assert counts["pushes"] == 10 * size * size == sum(counts["staleness"].values())
        assert counts["bytes_in"] == 10 * size * 8000


@pytest.mark.slow
@pytest.mark.parametrize("options", MODES[1:], ids=lambda o: o["mode"])
@pytest.mark.parametrize("size", [3])
def test_processes_train_in_each_mode(size, options, tmp_path):
    found = in_processes(size, tmp_path, work.train, big=work.BIG, **options)
    for arrays in found.values():
        assert all(np.isfinite(array).all() for array in arrays)
        assert arrays == found[0]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_processes_step_together(size, tmp_path):
    found = in_processes(size, tmp_path, work.train, big=work.BIG)
    assert found == dict.fromkeys(range(size), work.expected(size))


def test_all_start_from_the_values_of_rank_0():
    def start(store):
        out = np.empty((2, 3), np.float32)
        work.broadcast(store, "w", np.full((2, 3), store.rank, np.float32), out)
        return out.tolist()

    assert in_threads(3, start) == [[[0.0] * 3] * 2] * 3


def test_who_leaves_early_is_not_waited_for():
    def some(store):
        value = np.zeros(4, np.float32)
        store.set_optimizer(add)
        store.init("w", value)
        for _ in range(2 + 3 * store.rank):
            work.pushpull(store, "w", np.ones(4, np.float32), value)
        store.leave()
        return value[0]

    assert in_threads(3, some) == [6.0, 6 + 6.0, 6 + 6 + 3.0]


def test_backup_workers_wait_for_nobody_slow():
    def some(store):
        value = np.zeros(4, np.float32)
        store.set_optimizer(add)
        store.init("w", value)
        if store.rank == 2:
            store.barrier()
            outcome = store.push("w", np.ones(4, np.float32))
            store.pull("w", value)
            return outcome, value[0], store.statistics()["dropped"]
        for _ in range(5):
            outcome = work.pushpull(store, "w", np.ones(4, np.float32), value)
        store.barrier()
        return outcome, value[0], None

    assert in_threads(3, some, backup=1) == [
        ((False, 0), 10.0, None),
        ((False, 0), 10.0, None),
        ((True, 5), 10.0, 1),
    ]


def test_gradients_travel_as_messages_of_a_codec():
    def some(store):
        value, other = np.zeros(1000, np.float32), np.zeros(10)
        store.set_optimizer(add)
        store.set_compression(TwoBit(threshold=0.5))
        store.init(["w", "v"], [value, other])
        for _ in range(4):
            gradients = [np.full(1000, 0.25, np.float32), np.ones(10)]
            work.pushpull(store, ["w", "v"], gradients, [value, other])
        return value.tolist(), other.tolist(), store.statistics()["bytes_in"]

    for value, other, nbytes in in_threads(2, some, big=100):
        assert value == [2.0] * 1000 and other == [8.0] * 10
        assert nbytes < 2 * 4 * (1000 * 4 / 10 + 80)


def test_a_server_stands_alone_at_the_driver():
    options = {"mode": "async", "timeout": TIMEOUT, "stall_timeout": 10.0}
    with Endpoint(SECRET) as driver:
        server = StoreServer(driver, 2, options=StoreOptions(**options))
        server.set_optimizer(add)

        def run(rank):
            with Endpoint(SECRET) as endpoint:
                places = Places(endpoint, rank, 2, {DRIVER: driver.address})
                with work.opened(places, **options) as store:
                    value = np.zeros(4, np.float32)
                    store.init("w", value)
                    store.push("w", np.ones(4, np.float32))
                    store.barrier()
                    store.pull("w", value)
                    return value[0]

        assert together(2, run) == [2.0, 2.0]
        server.wait()
        assert server.statistics()["pushes"] == 2
        server.close()


def over_a_group(group):
    with work.opened(Places.of(group, SECRET), big=work.BIG, timeout=TIMEOUT) as store:
        return work.train(store)


def test_a_store_of_a_group():
    assert crew(2, over_a_group) == [work.expected(2)] * 2


# optimizer states


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 2), (1, 3)])
def test_optimizer_states_survive_another_number_of_servers(sizes, tmp_path):
    path, keys = tmp_path / "states.npz", list(work.SIZES)

    def first(store):
        work.train(store, steps=2)
        store.save_optimizer_states(path)

    def second(store):
        value = [np.zeros_like(v) for v in work.values()]
        store.set_optimizer(work.descend)
        store.init(keys, value)
        store.load_optimizer_states(path)
        work.pushpull(store, keys, [np.zeros_like(v) for v in value], value)
        store.barrier()
        return [v.tolist() for v in value], store._slots("w", store._slices["w"][0])["steps"]

    in_threads(sizes[0], first, big=work.BIG)
    assert [file.name for file in tmp_path.iterdir()] == ["states.npz"]
    gradient = sum(range(1, sizes[0] + 1))
    velocity = 0.5 * (0.5 * gradient + 2 * gradient)
    for value, steps in in_threads(sizes[1], second, big=work.BIG):
        assert value == [np.full(shape, -velocity).tolist() for shape in work.SIZES.values()]
        assert steps == 3


def test_a_file_that_holds_no_states_is_an_error_for_all(tmp_path):
    (tmp_path / "bad").write_bytes(b"no")

    def load(store):
        store.init("w", np.zeros(3))
        with pytest.raises((CheckpointError, PeerError), match="must hold optimizer states"):
            store.load_optimizer_states(tmp_path / "bad")
        return True

    assert in_threads(2, load) == [True, True]


# errors

WRONG = [
    (lambda s: s.push("v", np.ones(3)), "key must have a value, got 'v'"),
    (lambda s: s.pull("w", np.ones(4)), "array for 'w' must have 3 of float64, got 4 of float64"),
    (lambda s: s.pull("w", [1, 2, 3]), "array for 'w' must be contiguous, and a numpy array"),
    (lambda s: s.pull("w", np.ones(6)[::2]), "must be contiguous"),
    (lambda s: s.push("w", np.ones(3, np.float32)), "got 3 of float32"),
    (lambda s: s.push(["w", "w"], [np.ones(3)] * 2), "keys must differ"),
    (lambda s: s.push(["w"], [np.ones(3)] * 2), "keys must differ and have a value each"),
]


@pytest.mark.parametrize("act, message", WRONG)
def test_a_wrong_call_is_refused_and_the_store_goes_on(act, message):
    def run(store):
        value = np.zeros(3)
        store.init("w", value)
        with pytest.raises(ConfigError, match=message):
            act(store)
        work.pushpull(store, "w", np.ones(3), value)
        return value[0]

    assert in_threads(2, run) == [2.0, 2.0]


def test_options_must_be_the_same_everywhere():
    with Endpoint(SECRET) as driver, Endpoint(SECRET) as endpoint:
        StoreServer(driver, 1)
        with pytest.raises(DataError, match="options must be the same on all ranks"):
            KeyValueStore(Places(endpoint, 0, 1, {DRIVER: driver.address}), mode="async")


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_that_cannot_be_is_refused(rank):
    with Endpoint(SECRET) as endpoint, pytest.raises(ConfigError, match="rank must be in"):
        KeyValueStore(Places(endpoint, rank, 2, {DRIVER: endpoint.address}))


def test_servers_must_be_known():
    with Endpoint(SECRET) as endpoint, pytest.raises(ConfigError, match="must be some of"):
        KeyValueStore(Places(endpoint, 0, 1, {0: endpoint.address}), servers=[3])


@pytest.mark.slow
def test_a_worker_that_abandons_the_store_is_named_to_all():
    there = threading.Barrier(3)  # one that is still opening its store raises the error there

    def run(store):
        there.wait(60)
        value = np.zeros(3)
        if store.rank == 1:
            store.init("w", value)
            raise ZeroDivisionError("by mistake")
        with pytest.raises(PeerError) as caught:  # others may still be in init then
            store.init("w", value)
            work.pushpull(store, "w", np.ones(3), value)
        seen.append(caught.value.rank)

    seen = []
    with pytest.raises(ZeroDivisionError):
        in_threads(3, run)
    assert seen == [1, 1]


@pytest.mark.slow
def test_a_server_that_lives_but_does_not_answer_is_lost():
    options, stuck = {"timeout": 2.0, "stall_timeout": 1.0, "mode": "async"}, threading.Event()
    with Endpoint(SECRET) as driver, Endpoint(SECRET) as endpoint:
        server = StoreServer(driver, 1, options=StoreOptions(**options))
        server.set_optimizer(lambda *_: stuck.wait(60))
        places = Places(endpoint, 0, 1, {DRIVER: driver.address})
        with pytest.raises(PeerError, match="within 3 s while the answer to push was awaited"):
            with work.opened(places, **options) as store:
                store.init("w", np.zeros(3))
                store.push("w", np.ones(3))
        stuck.set()
        server.close()


@pytest.mark.slow
@pytest.mark.parametrize("who", [0, 1, 2])
@pytest.mark.parametrize("options", [MODES[0], MODES[1]], ids=lambda o: o["mode"])
@pytest.mark.parametrize("servers", [None, [0]], ids=["all", "one"])
def test_a_killed_worker_or_server_is_named_by_all(who, options, servers, tmp_path):
    found = in_processes(
        3, tmp_path, work.killed, who, work.KILL, allow=[who], servers=servers, **options
    )
    assert len(found) == 2
    assert all(text.startswith(f"PeerError: rank {who} on") for text in found.values()), found


@pytest.mark.slow
def test_a_stopped_worker_is_named_by_all(tmp_path):
    found = in_processes(3, tmp_path, work.killed, 1, work.STOP, allow=[1], timeout=4.0)
    assert len(found) == 2
    assert all(text.startswith("PeerError: rank 1 on") for text in found.values()), found
