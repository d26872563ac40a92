"""The accumulator server ignores that the JVM hangs up; other errors are printed as before."""

import socket
import struct
from contextlib import closing, contextmanager
from threading import Thread
from types import SimpleNamespace

import pytest
from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler

from sparkdl.spark.accumulator_server import expect_hang_up

TOKEN = "token"
NO_UPDATES, DONE = struct.pack("!i", 0), b"\x01"
WORDS = {  # messages of the JVM before it hangs up, expected error output
    "hang up at once": ([TOKEN.encode() + NO_UPDATES], ""),
    "hang up after some updates": ([TOKEN.encode() + NO_UPDATES, NO_UPDATES, NO_UPDATES], ""),
    "another's token": ([b"other" + NO_UPDATES], "ValueError: The value of the provided token"),
}


@contextmanager
def running_server():
    server = AccumulatorTCPServer(("localhost", 0), UpdateRequestHandler, TOKEN)
    expect_hang_up(SimpleNamespace(_accumulatorServer=server))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(timeout=10)


@pytest.mark.parametrize("name", WORDS)
def test_only_errors_are_printed(name, capsys):
    messages, printed = WORDS[name]
    with running_server() as server:
        with closing(socket.create_connection(server.server_address, timeout=10)) as jvm:
            for message in messages:
                jvm.sendall(message)
                assert jvm.recv(1) == (b"" if printed else DONE)
            jvm.shutdown(socket.SHUT_WR)
            assert jvm.recv(1) == b""  # the connection closes after the output
    errors = capsys.readouterr().err
    assert printed in errors and bool(errors) == bool(printed)


def test_an_answer_that_nobody_waits_for_is_no_error(capsys):
    """The JVM has sent its last update and exited."""
    with running_server() as server:
        jvm = socket.create_connection(server.server_address, timeout=10)
        jvm.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        jvm.sendall(TOKEN.encode() + NO_UPDATES)
        assert jvm.recv(1) == DONE
        jvm.sendall(NO_UPDATES * 1000)
        jvm.close()  # resets the connection
        with closing(socket.create_connection(server.server_address, timeout=10)) as other:
            other.sendall(TOKEN.encode() + NO_UPDATES)  # served once the first connection has ended
            assert other.recv(1) == DONE
    assert capsys.readouterr().err == ""


def test_without_a_server_nothing_happens():
    expect_hang_up(SimpleNamespace())
