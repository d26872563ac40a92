"""Endpoints admit callers that know the secret; others do no harm."""

import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial

import pytest

from sparkdl.errors import ConfigError, PeerError, WorkerError
from sparkdl.exchange.connections import admission as admission_module
from sparkdl.exchange.connections.admission import NO_THREAD, Admission
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.handshake import HELLO, PROTOCOL
from sparkdl.exchange.connections.job_tls import JobTls
from sparkdl.exchange.connections.sockets import BUFFER, LIMITS, kernel_limit
from sparkdl.thread_start import NoThread
from tests.exchange.few_threads import no_thread
from tests.exchange.pairs import OTHER, SECRET
from tests.support.waiting import until

HELLO_OF_TLS = bytes([22, 3, 1, 2, 0])  # announces 512 bytes, none of which follow


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tls(request):
    return JobTls.new() if request.param else None


@pytest.fixture
def endpoint():
    with Endpoint(SECRET, timeout=5.0) as endpoint:
        yield endpoint


def test_who_is_let_in_is_out_of_the_reach_of_who_ends_handshakes():
    """An endpoint closes once all are admitted, which aborts the handshakes that are pending."""
    pending, ready = [], threading.Event()

    def let_in(one):
        pending.append(len(admission._pending))
        one.sock.close()
        ready.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        admission = Admission(
            listener, lambda one: partial(let_in, one), Counter(), 5.0, lambda: None, None
        )
        with socket.create_connection(listener.getsockname()):
            assert ready.wait(5)
        admission.close()
    assert pending == [0]


def talk(one, other):
    one.sendall(b"ping")
    assert other.recv(4) == b"ping"
    other.sendall(b"pong")
    assert one.recv(4) == b"pong"


def test_a_call_is_accepted_with_its_rank(endpoint):
    with endpoint.connect(endpoint.address, "links", rank=7) as here:
        rank, there = endpoint.accept("links")
        with there:
            assert rank == 7
            talk(here, there)


def test_sockets_send_at_once_have_large_buffers_and_are_not_inherited(endpoint):
    with endpoint.connect(endpoint.address, "links") as here, endpoint.accept("links")[1] as there:
        for sock in (here, there):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert not sock.get_inheritable()
            for option, limit in LIMITS.items():
                wanted = kernel_limit(limit) >= BUFFER
                assert not wanted or sock.getsockopt(socket.SOL_SOCKET, option) >= BUFFER


def test_all_may_connect_before_any_accepts(endpoint):
    with Endpoint(SECRET) as other:
        calls = [
            other.connect(endpoint.address, "links", 1),
            endpoint.connect(other.address, "links"),
        ]
        taken = [endpoint.accept("links"), other.accept("links")]
        assert [rank for rank, _ in taken] == [1, 0]
        for sock in [*calls, *(sock for _, sock in taken)]:
            sock.close()


def test_channels_are_apart(endpoint):
    calls = [endpoint.connect(endpoint.address, name, i) for i, name in enumerate(["a", "b", "a"])]
    taken = [endpoint.accept(name) for name in ["b", "a", "a"]]
    assert [rank for rank, _ in taken] == [1, 0, 2]
    for sock in [*calls, *(sock for _, sock in taken)]:
        sock.close()


def test_callers_are_handed_to_a_handler_also_those_that_came_before(endpoint):
    early = endpoint.connect(endpoint.address, "store", 1)
    endpoint.serve("store", lambda rank, sock: sock.sendall(b"hello %d" % rank))
    late = endpoint.connect(endpoint.address, "store", 2)
    assert early.recv(100) == b"hello 1"
    assert late.recv(100) == b"hello 2"
    assert late.recv(100) == b""  # the socket is closed when the handler returns
    early.close(), late.close()


def test_a_failed_handler_is_logged_and_the_next_caller_served(endpoint, caplog):
    endpoint.serve("store", lambda rank, sock: sock.sendall(b"%d" % (1 // rank)))
    with endpoint.connect(endpoint.address, "store", 0) as sock:
        assert sock.recv(1) == b""
    with endpoint.connect(endpoint.address, "store", 1) as sock:
        assert sock.recv(1) == b"1"
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.slow
def test_a_call_waits_for_the_other_to_start(endpoint):
    started = []
    with silent_place() as address:
        late = threading.Timer(
            0.5, lambda: started.append(Endpoint(SECRET, ports=str(address[1]), timeout=5))
        )
        late.start()
        endpoint.connect(address, "links", timeout=30).close()
        late.join()
    started[0].close()


@pytest.mark.slow
def test_nobody_there_is_an_error_at_the_limit(endpoint):
    with silent_place() as address:
        text = f"{address[1]}: did not answer on channel 'links'.*0.5 s"
        with pytest.raises(PeerError, match=text):
            endpoint.connect(address, "links", timeout=0.5)


@contextmanager
def silent_place():
    """An address where nothing listens, whose port stays reserved meanwhile."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()


@pytest.mark.slow
def test_nobody_calling_is_an_error_at_the_limit(endpoint):
    with pytest.raises(WorkerError, match="nobody connected to channel 'links' within 0.2 s"):
        endpoint.accept("links", timeout=0.2)


def test_another_secret_is_refused_on_both_sides(endpoint):
    with Endpoint(OTHER) as stranger:
        with pytest.raises(PeerError, match="secrets differ"):
            stranger.connect(endpoint.address, "links")
    assert until(lambda: endpoint.refused["another secret"] == 1)
    endpoint.connect(endpoint.address, "links").close()


STRANGERS = {
    "a browser": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "nothing but zeros": bytes(1000),
    "a long length": PROTOCOL + bytes(32) + HELLO.pack(0, 255) + b"\xff" * 400,
}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers_are_refused_and_counted(endpoint, name):
    with socket.create_connection(endpoint.address, timeout=5) as sock:
        sock.sendall(STRANGERS[name])
        with_reset(sock)
    assert until(lambda: sum(endpoint.refused.values()) == 1)
    endpoint.connect(endpoint.address, "links").close()


def with_reset(sock):
    """Reads to the end of the stream, which may be a connection reset."""
    try:
        while sock.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass


@pytest.mark.slow
def test_silent_strangers_hold_nobody_up(tls):
    with Endpoint(SECRET, timeout=2.0, tls=tls) as endpoint:
        silent = [socket.create_connection(endpoint.address) for _ in range(200)]
        endpoint.connect(endpoint.address, "links", timeout=30).close()
        assert until(lambda: endpoint.refused["too slow"] >= 200), endpoint.refused
        for sock in silent:
            sock.close()


def test_the_door_stays_open_when_there_are_no_more_threads(endpoint, monkeypatch, caplog):
    start = threading.Thread.start

    def none_left(thread):
        if thread.name == "sparkdl-handshake" and not endpoint.refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none_left)
    endpoint.connect(endpoint.address, "links").close()  # at the second attempt
    assert endpoint.refused == {NO_THREAD: 1}
    [record] = caplog.records  # without a traceback: callers try again at once, for a minute
    assert "spark.executor.pyspark.memory" in record.getMessage() and not record.exc_info


@pytest.mark.slow
def test_who_gets_no_thread_for_callers_awaits_none(endpoint, monkeypatch):
    monkeypatch.setattr(admission_module, "PATIENCE", 0.2)
    with no_thread(monkeypatch, "sparkdl-handshake"):
        with pytest.raises(PeerError, match="did not answer"):  # its caller is told nothing
            endpoint.connect(endpoint.address, "links", timeout=2)
        knock_in_vain(endpoint)
        with pytest.raises(NoThread, match="can't start new thread; raise the number of proc"):
            endpoint.accept("links", timeout=60)


@pytest.mark.slow
def test_callers_are_awaited_again_once_threads_start(endpoint, monkeypatch):
    monkeypatch.setattr(admission_module, "PATIENCE", 0.2)
    starve(endpoint, monkeypatch)
    start = admission_module.start_thread

    def start_slowly(thread):
        start(thread)
        time.sleep(0.5)  # the caller is accepted meanwhile

    monkeypatch.setattr(admission_module, "start_thread", start_slowly)
    endpoint.connect(endpoint.address, "links").close()
    endpoint.accept("links")[1].close()
    with pytest.raises(WorkerError, match="nobody connected to channel 'links' within 0.1 s"):
        endpoint.accept("links", timeout=0.1)


@pytest.mark.slow
def test_a_lack_of_threads_is_forgotten_if_nobody_calls(endpoint, monkeypatch):
    monkeypatch.setattr(admission_module, "PATIENCE", 0.2)
    starve(endpoint, monkeypatch)
    monkeypatch.setattr(admission_module, "LULL", 0.1)

    def is_forgotten():
        return endpoint._admission._first_starved is None

    assert until(is_forgotten)
    with no_thread(monkeypatch, "sparkdl-handshake"):
        for _ in range(2):
            with pytest.raises(WorkerError, match="nobody connected"):
                endpoint.accept("links", timeout=0.1)
            endpoint.refused.clear()
            socket.create_connection(endpoint.address).close()
            assert until(lambda: endpoint.refused[NO_THREAD])
            assert until(is_forgotten)
    with pytest.raises(WorkerError, match="nobody connected"):
        endpoint.accept("links", timeout=0.1)


def starve(endpoint, monkeypatch):
    with no_thread(monkeypatch, "sparkdl-handshake"):
        with pytest.raises(PeerError, match="did not answer"):
            endpoint.connect(endpoint.address, "links", timeout=1)
        knock_in_vain(endpoint)
        with pytest.raises(NoThread):
            endpoint.accept("links", timeout=60)


def knock_in_vain(endpoint):
    """Calls until the endpoint knows that it gets no threads; a busy machine leaves few tries."""

    def knock():
        socket.create_connection(endpoint.address).close()
        return endpoint._callers._error

    until(knock)


def test_who_gets_no_thread_to_listen_frees_the_port(monkeypatch):
    with Endpoint(SECRET) as endpoint:
        ports = str(endpoint.address[1])
    with no_thread(monkeypatch, "sparkdl-admission"):
        with pytest.raises(NoThread) as caught:
            Endpoint(SECRET, ports=ports)
    with Endpoint(SECRET, ports=ports) as again:
        assert caught.tb and again.address[1] == int(ports)


def test_who_gets_no_thread_of_a_handler_is_sent_away(endpoint, monkeypatch, caplog):
    endpoint.serve("store", lambda rank, sock: sock.sendall(b"!"))
    endpoint.watch_threads((seen := []).append)
    with no_thread(monkeypatch, "sparkdl-store"):
        with endpoint.connect(endpoint.address, "store", rank=3) as sock:
            sock.settimeout(5)
            assert sock.recv(1) == b""
    assert list(map(type, seen)) == [NoThread]
    assert [record.getMessage() for record in caplog.records] == [
        f"rank 3 on channel store: {NO_THREAD}"
    ]
    with endpoint.connect(endpoint.address, "store") as sock:
        sock.settimeout(5)
        assert sock.recv(1) == b"!"


@pytest.mark.slow
def test_a_caller_that_nobody_takes_is_sent_away():
    with Endpoint(SECRET, timeout=0.3) as endpoint:
        with endpoint.connect(endpoint.address, "links", timeout=5) as sock:
            sock.settimeout(5)
            assert sock.recv(1) == b""
        assert until(lambda: endpoint.refused["not taken"] == 1)


def test_closing_ends_what_waits_and_all_threads(tls):
    before = set(threading.enumerate())
    endpoint = Endpoint(SECRET, timeout=30.0, tls=tls)
    endpoint.serve("store", lambda rank, sock: sock.recv(1))
    calls = [endpoint.connect(endpoint.address, name) for name in ["store", "links"]]
    silent = [socket.create_connection(endpoint.address) for _ in range(2)]
    silent[1].sendall(HELLO_OF_TLS)
    assert until(lambda: len(endpoint._admission._pending) == 2)
    failed = []
    waiting = threading.Thread(target=lambda: failed.append(closed_while_awaited(endpoint)))
    waiting.start()
    start = time.monotonic()
    endpoint.close()
    assert time.monotonic() - start < 30  # it would give up after 60 s
    waiting.join(60)
    for sock in [*calls, *silent]:
        sock.settimeout(5)
        with_reset(sock)
        sock.close()
    assert "was closed" in failed[0]
    assert until(lambda: not set(threading.enumerate()) - before)


def closed_while_awaited(endpoint):
    with pytest.raises(WorkerError) as error:
        endpoint.accept("other", timeout=60)
    return str(error.value)


def test_ports_come_from_the_range():
    with Endpoint(SECRET) as any_port:
        port = any_port.address[1]
        with Endpoint(SECRET, ports=f"{port}-{min(port + 20, 65535)}") as second:
            assert port < second.address[1] <= port + 20
        with pytest.raises(ConfigError, match=f"must have a free one at 127.0.0.1, got '{port}'"):
            Endpoint(SECRET, ports=str(port))


@pytest.mark.parametrize("ports", ["", "x", "5-", "70000", "9-8", "-1"])
def test_what_is_no_range_of_ports_is_refused(ports):
    with pytest.raises(ConfigError, match="ports must be"):
        Endpoint(SECRET, ports=ports)


@pytest.mark.parametrize("secret", [b"", b"short", "text of some length, but text"])
def test_a_poor_secret_is_refused(secret):
    with pytest.raises(ConfigError, match="secret must be at least 16 bytes"):
        Endpoint(secret)


@pytest.mark.parametrize("channel", ["", "x" * 256])
def test_a_channel_needs_a_short_name(endpoint, channel):
    with pytest.raises(ConfigError, match="channel must have 1 to 255 bytes"):
        endpoint.connect(endpoint.address, channel)
