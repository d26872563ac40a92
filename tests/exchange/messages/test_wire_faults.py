"""A killed or stopped process is an error in time; one that only computes is not."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from sparkdl.errors import PeerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.messages.wire import Wire
from tests.exchange.pairs import SECRET

TIMEOUT = 3.0
CHILD = """
import sys, time
import numpy as np
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.messages.wire import Wire
host, port, secret, timeout = sys.argv[1:]
sock = dial((host, int(port)), bytes.fromhex(secret), "control", 1, timeout=60)
wire = Wire(sock, "the test", float(timeout))
wire.send({"ready": True})
end = time.monotonic() + 60
while time.monotonic() < end and not wire.ready():
    np.ones((1500, 1500)).sum()  # busy, as one that computes
"""


@contextmanager
def child():
    """A process and the Wire to it; both are gone at the end."""
    with Endpoint(SECRET, timeout=60) as endpoint:
        host, port = endpoint.address
        command = [sys.executable, "-c", CHILD, host, str(port), SECRET.hex(), str(TIMEOUT)]
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
        try:
            rank, sock = endpoint.accept("control")
            with Wire(sock, "the child's host", TIMEOUT, rank=rank) as wire:
                assert wire.receive(timeout=60)[0] == {"ready": True}
                yield process, wire
        finally:
            process.kill()
            process.wait(10)


@pytest.mark.slow
def test_a_process_that_computes_is_alive():
    with child() as (process, wire):
        assert not wire.ready(2 * TIMEOUT)
        wire.send({"end": True})
        with pytest.raises(PeerError, match="rank 1 on the child's host: (hung up|is gone)"):
            wire.receive()
        assert process.wait(60) == 0


def test_a_killed_process_is_an_error_at_once():
    with child() as (process, wire):
        process.kill()
        with pytest.raises(PeerError, match="rank 1 .*(hung up|is gone).* while its report was"):
            wire.receive(waiting_for="its report")


@pytest.mark.slow
def test_a_stopped_process_is_an_error_at_the_limit():
    with child() as (process, wire):
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(PeerError, match="was silent for 3 s while a message was awaited"):
            wire.receive()


@pytest.mark.slow
def test_a_stopped_process_that_is_sent_to_is_an_error_at_the_limit():
    with child() as (process, wire):
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(PeerError, match="accepted nothing for 3 s"):
            wire.send({}, np.zeros(10_000_000))
