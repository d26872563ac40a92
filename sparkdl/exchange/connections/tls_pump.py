"""Pump that moves bytes between a TLS socket and an ordinary one in a thread.

Two threads must not use a TLS connection at once, and received bytes can be invisible to poll.
Behind a pump it looks like an ordinary socket, so other modules need not care.
"""

import atexit
import contextlib
import select
import socket
import ssl
import threading
import time

from sparkdl.exchange.connections.sockets import hang_up
from sparkdl.thread_start import NoThread, start_thread

BLOCK = 1 << 18
LINGER = 5.0  # seconds to send the last bytes after our side has closed
WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
EMPTY = memoryview(b"")
running = {}


def plain(safe):
    """Returns an ordinary socket that is pumped to and from `safe`, and takes over `safe`."""
    peer = safe.getpeername()  # raises OSError if the peer is gone
    outer, inner = socket.socketpair()
    outer = PumpSocket(outer, peer)
    for sock in (safe, inner):
        sock.setblocking(False)
    thread = threading.Thread(target=Pump(safe, inner).run, name="sparkdl-tls", daemon=True)
    running[thread] = inner
    try:
        start_thread(thread)
    except NoThread:
        del running[thread]
        for sock in (outer, inner):
            sock.close()
        raise
    return outer


class PumpSocket(socket.socket):
    """The near end of a pump; its peer name is that of the TLS connection."""

    def __init__(self, sock, peer):
        super().__init__(fileno=sock.detach())
        self._peer = peer

    def getpeername(self):
        return self._peer


@atexit.register
def finish():
    """Sends the last bytes before the process exits, as the kernel does for ordinary sockets."""
    for thread, inner in list(running.items()):
        with contextlib.suppress(OSError):
            inner.shutdown(socket.SHUT_RDWR)
        thread.join(LINGER)


class Pump:
    """Both directions of one connection, with one block in transit in each."""

    def __init__(self, safe, inner):
        self.safe, self.inner = safe, inner
        self.block = memoryview(bytearray(BLOCK))
        self.outward, self.inward = EMPTY, EMPTY  # read, but not yet passed on
        self.ended = False  # nothing more will arrive
        self.said_all = self.was_told = False  # our side sends no more; the peer knows
        self.until = None  # the time to stop at once our side is closed

    def run(self):
        """Pumps until either side is closed."""
        try:
            while self._step():
                self._sleep()
        except OSError:  # the connection is lost: our side sees the end of the stream
            pass
        finally:
            with contextlib.suppress(*WAIT, OSError, ValueError):
                self.safe.unwrap()  # an orderly end, if possible without blocking
            hang_up(self.safe)
            hang_up(self.inner)
            running.pop(threading.current_thread(), None)

    def _step(self):
        """Moves what can be moved without blocking; returns False at the end."""
        if not self.inward:
            self._take()
            if self.ended and not self.inward:
                return False
        with contextlib.suppress(*WAIT):
            self._deliver()
        with contextlib.suppress(*WAIT):
            if not self.outward and not self.said_all:
                self.outward = memoryview(self.inner.recv(BLOCK))
                self.said_all = not self.outward
        with contextlib.suppress(*WAIT):
            while self.outward:  # 16 KiB at a time
                self.outward = self.outward[self.safe.send(self.outward) :]
        return not self.said_all or self._goes_on()

    def _goes_on(self):
        """Returns whether to continue after our side has stopped sending.

        If it has only shut down sending, the pump reads until the peer's end and closes when our
        side does: closing here would drop data in transit.
        """
        if is_closed(self.inner):
            self.until = self.until or time.monotonic() + LINGER
            return bool(self.outward) and time.monotonic() < self.until
        if not self.outward and not self.was_told:
            self.was_told = True
            socket.socket.shutdown(self.safe, socket.SHUT_WR)  # TLS's own would end reading, too
        return True

    def _take(self):
        """Fills the block with received data; TLS delivers at most 16 KiB at a time."""
        filled = 0
        try:
            while filled < BLOCK and not self.ended:
                got = self.safe.recv_into(self.block[filled:])
                filled += got
                self.ended = not got
        except WAIT:
            pass
        except OSError:  # bytes read before are still valid
            self.ended = True
        self.inward = self.block[:filled]

    def _deliver(self):
        try:
            while self.inward:
                self.inward = self.inward[self.inner.send(self.inward) :]
        except BrokenPipeError:  # our side is closed: nobody reads further bytes
            self.inward = EMPTY

    def _sleep(self):
        """Sleeps until data can be moved.

        Idle sides are not polled: a closed one would always wake.
        """
        poll = select.poll()
        for sock, to_read, to_write in (
            (self.safe, not self.inward, self.outward),
            (self.inner, not self.outward and not self.said_all, self.inward),
        ):
            events = (select.POLLIN if to_read else 0) | (select.POLLOUT if to_write else 0)
            awaits_close = sock is self.inner and self.said_all and self.until is None
            if events or awaits_close:
                poll.register(sock, events)
        if self.inward or not self.safe.pending():
            poll.poll(None if self.until is None else 1000 * LINGER)


def is_closed(sock):
    """Returns whether the other end of a socket pair is closed, not just shut down for sending."""
    poll = select.poll()
    poll.register(sock, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))
