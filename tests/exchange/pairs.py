"""Connected pairs, and secrets, for tests."""

import socket
from contextlib import contextmanager

from sparkdl.exchange.messages.wire import Wire

SECRET = b"a secret of the tests" * 2
OTHER = b"another secret, as long as it" * 2


@contextmanager
def wires(timeout=5.0, **options):
    """Two connected Wires."""
    left, right = socket.socketpair()
    with Wire(left, "left", timeout, **options) as a, Wire(right, "right", timeout, **options) as b:
        yield a, b


@contextmanager
def wire_and_socket(timeout=5.0, **options):
    """A Wire, and the bare socket at its other end."""
    left, right = socket.socketpair()
    right.settimeout(5)
    with Wire(left, "the peer's host", timeout, rank=3, **options) as wire, right:
        yield wire, right
