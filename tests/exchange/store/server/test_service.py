"""Invalid requests are refused, senseless ones count as a lost worker, and the server survives."""

import random
from contextlib import contextmanager

import numpy as np
import pytest

from sparkdl.error_messages import error_from_json
from sparkdl.errors import DataError, PeerError, ShapeError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.messages.message import MOST_ARRAYS
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.store import StoreOptions, StoreServer
from sparkdl.exchange.store.client.reply import check_reply
from sparkdl.exchange.store.client.request_queue import RemoteServer
from sparkdl.exchange.store.server.options import MODES
from sparkdl.exchange.store.server.service import VERBS
from tests.exchange.few_threads import no_thread
from tests.exchange.pairs import SECRET

ONES = np.ones(4, np.float32)


@contextmanager
def serving(size=2, **options):
    """Yields a server with one key, and a function that connects to it as a rank."""
    options = StoreOptions(**{"timeout": 20.0, "stall_timeout": 0.2, "mode": "async"} | options)
    with Endpoint(SECRET, timeout=20.0) as endpoint:
        server = StoreServer(endpoint, size, options=options)
        server.set_optimizer(lambda key, value, gradient, slots: value.__iadd__(gradient))
        server.shard.init(0, "w", np.zeros(4, np.float32))

        def connect(rank, bare=False):
            sock = endpoint.connect(endpoint.address, "store", rank)
            return sock if bare else Wire(sock, "the server", 20.0)

        yield server, connect
        server.close()


def ask(wire, meta, *arrays):
    wire.send(meta, *arrays)
    answer = wire.receive(20.0)[0]
    arrays = wire.receive(20.0)[1] if answer["arrays"] else []
    return answer, arrays


PUSH = {"verb": "push", "keys": ["w"], "coded": [False], "weight": 1.0}
REFUSED = [
    ({}, (), "verb must be one of"),
    ({"verb": "steal"}, (), "verb must be one of"),
    ({"verb": ["push"]}, (), "the server: TypeError"),
    ({"verb": "hello", "options": 3}, (), "options must be the same"),
    ({"verb": "pull"}, (), "keys must be a list of str, got None"),
    ({"verb": "pull", "keys": [3]}, (), "keys must be a list of str"),
    ({"verb": "pull", "keys": ["x"]}, (), "key must have a value"),
    (PUSH, (), "keys must have 0 entries, got 1"),
    (PUSH | {"keys": ["w", "w"]}, (ONES,), "keys must have 1 entries, got 2"),
    (PUSH | {"coded": None}, (ONES,), "coded must be a list of bool"),
    (PUSH | {"coded": [True]}, (ONES,), "set_compression must be called"),
    (PUSH | {"weight": "1"}, (ONES,), "weight must be a float >= 0"),
    (PUSH | {"weight": -1.0}, (ONES,), "weight must be a float >= 0"),
    (PUSH | {"weight": float("nan")}, (ONES,), "weight must be a float >= 0"),
    (PUSH, (ONES[:3],), "a push to 'w' must have"),
    (PUSH, (ONES.astype(np.int64),), "a push to 'w' must have"),
    (PUSH, (ONES.reshape(2, 2),), "a push to 'w' must have"),
    ({"verb": "init", "keys": ["w"]}, (ONES,), "key 'w' must be new"),
    ({"verb": "init", "keys": ["v"]}, (np.ones(2, bool),), "must be a vector of floats or"),
    ({"verb": "await_keys", "keys": ["w"], "dtypes": ["<f4"]}, (), "lengths must be a list"),
    ({"verb": "await_keys", "keys": ["w"], "dtypes": ["object"], "lengths": [4]}, (), "alike"),
    ({"verb": "slots", "keys": []}, (), "the server: ValueError"),
    ({"verb": "set_slots", "keys": ["w"], "names": ["a"]}, (), "names must have 0 entries"),
]


@pytest.mark.parametrize("meta, arrays, message", REFUSED)
def test_a_request_that_makes_no_sense_is_refused_and_others_go_on(meta, arrays, message):
    with serving() as (_, connect), connect(0) as wire, connect(1) as other:
        answer, _ = ask(wire, meta, *arrays)
        assert message in str(error_from_json(answer, "the server"))
        for one in (wire, other):
            assert ask(one, PUSH, ONES)[0]["outcomes"]
        assert ask(other, {"verb": "pull", "keys": ["w"]})[1][0].tolist() == [2.0] * 4


def test_a_rank_comes_once():
    with serving() as (_, connect), connect(0) as wire:
        assert ask(wire, PUSH, ONES)[0]["outcomes"]
        with connect(0) as twin, connect(7) as stranger:
            assert "rank 0 must come once" in twin.receive(20.0)[0]["arguments"][0]
            assert "rank must be in [0, 2), got 7" in stranger.receive(20.0)[0]["arguments"][0]
        assert ask(wire, PUSH, ONES)[0]["outcomes"]


def test_bytes_that_are_no_message_lose_the_worker():
    with serving() as (server, connect), connect(0, bare=True) as sock, connect(1) as other:
        sock.sendall(b"no frame at all, but long enough for one")
        with pytest.raises(PeerError, match="rank 0 on .*: sent an invalid message"):
            server.wait()
        with pytest.raises(PeerError, match="rank 0 on .*: sent an invalid message"):
            check_reply(ask(other, PUSH, ONES)[0], "the server")


@pytest.mark.parametrize("said", [None, 3, [], [1, 2, 3], ["x", "y", "z"], [1, "h" * 10**5, "w"]])
@pytest.mark.parametrize("name", ["PeerError", "DataError", 7])
def test_a_report_of_a_loss_may_say_anything(name, said):
    with serving() as (server, connect), connect(0) as wire, connect(1) as other:
        wire.send({"verb": "fail", "error": name, "arguments": said})
        with pytest.raises(PeerError):
            server.wait()
        with pytest.raises(PeerError) as caught:
            check_reply(ask(other, PUSH, ONES)[0], "the server")
        assert len(str(caught.value)) < 3000


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_random_requests_do_no_harm(mode):
    rng = random.Random(3)
    values = [None, 0, -1, 1.5, "w", "x", True, [], ["w"], ["w", 1], [True], [1.0], {}, "<f4"]
    names = ["keys", "coded", "weight", "names", "dtypes", "lengths", "options"]
    arrays = [ONES, ONES[:0], np.ones((2, 2)), np.ones(4, np.int8), np.array(1.0, np.float32)]
    verbs = [verb for verb in VERBS if verb != "leave"]
    with serving(mode=mode, stall_timeout=0.01) as (_, connect), connect(0) as wire:
        for _ in range(300):
            meta = {name: rng.choice(values) for name in names} | {"verb": rng.choice(verbs)}
            answer, _ = ask(wire, meta, *rng.sample(arrays, rng.randrange(3)))
            assert "error" not in answer or isinstance(answer["arguments"][-1], str)


def test_a_worker_waited_for_is_named_with_the_host_that_it_connected_from():
    with serving(stall_timeout=0.1) as (_, connect), connect(0) as first, connect(1) as second:
        ask(second, {"verb": "pull", "keys": ["w"]})
        answer, _ = ask(first, {"verb": "barrier"})
    assert answer["arguments"][:2] == [1, "127.0.0.1"]


def test_a_server_without_a_thread_for_answers_fails_the_store(monkeypatch):
    with serving(stall_timeout=20.0) as (server, connect), connect(1) as other:
        with no_thread(monkeypatch, "sparkdl-answers-0"), connect(0) as wire:
            with pytest.raises(PeerError, match="can't start new thread; raise the number of proc"):
                server.wait()
            with pytest.raises(PeerError, match="hung up"):
                wire.receive(20.0)
        with pytest.raises(PeerError, match="can't start new thread"):
            check_reply(ask(other, PUSH, ONES)[0], "the server")


def test_an_error_of_the_server_is_of_the_same_class_at_the_worker(monkeypatch):
    def refuse(rank, key):
        raise ShapeError("a codec's message needs (4,), got (3,)")

    with serving() as (server, connect), connect(0) as wire:
        monkeypatch.setattr(server.shard, "pull", refuse)
        with pytest.raises(ShapeError, match="^a codec's message needs"):
            RemoteServer(wire, 20.0).talk({"verb": "pull", "keys": ["w"]}, (), None)


def test_a_failure_of_the_server_names_it_and_has_its_traceback(monkeypatch):
    with serving() as (server, connect), connect(0) as wire:
        monkeypatch.setattr(server.shard, "pull", lambda rank, key: 1 / 0)
        with pytest.raises(WorkerError, match="^the store.* on the server: Zero") as caught:
            RemoteServer(wire, 20.0).talk({"verb": "pull", "keys": ["w"]}, (), None)
        assert "in pull" in caught.value.__notes__[0]


@pytest.mark.slow
def test_an_answer_that_is_no_message_is_an_error_at_once():
    keys = [f"k{i}" for i in range(MOST_ARRAYS + 1)]
    with serving() as (server, connect), connect(0) as wire:
        for key in keys:
            server.shard.init(0, key, np.zeros(1, np.float32))
        remote = RemoteServer(wire, 5.0)
        with pytest.raises(DataError, match=f"at most .* {MOST_ARRAYS} arrays"):
            remote.talk({"verb": "pull", "keys": keys}, (), None)
        assert remote.talk({"verb": "pull", "keys": keys[:2]}, (), None)[1] == [0.0, 0.0]
