"""Moves bytes between a socket under TLS and an ordinary one, in a thread.

A TLS connection may not be read and written by two threads at once, and hides received bytes from
poll. Behind a pump it is an ordinary socket, so nothing else here needs to know.
"""

import atexit
import contextlib
import select
import socket
import ssl
import threading
import time

from sparkdl.exchange.connections.sockets import hang_up

BLOCK = 1 << 18
LINGER = 5.0  # seconds for the last bytes, once our side is closed
WAIT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
EMPTY = memoryview(b"")
running = {}


def plain(safe):
    """Returns an ordinary socket whose bytes go through `safe`, which from now on belongs to it."""
    peer = safe.getpeername()  # an OSError where it has gone
    outer, inner = socket.socketpair()
    outer = PumpSocket(outer, peer)
    for sock in (safe, inner):
        sock.setblocking(False)
    thread = threading.Thread(target=Pump(safe, inner).run, name="sparkdl-tls", daemon=True)
    running[thread] = inner
    thread.start()
    return outer


class PumpSocket(socket.socket):
    """The near end of a pump, which names the far one as its peer."""

    def __init__(self, sock, peer):
        super().__init__(fileno=sock.detach())
        self._peer = peer

    def getpeername(self):
        return self._peer


@atexit.register
def finish():
    """Sends the last bytes before the process ends, as the system does for ordinary sockets."""
    for thread, inner in list(running.items()):
        with contextlib.suppress(OSError):
            inner.shutdown(socket.SHUT_RDWR)
        thread.join(LINGER)


class Pump:
    """Both directions of one connection, each with one block on the way."""

    def __init__(self, safe, inner):
        self.safe, self.inner = safe, inner
        self.block = memoryview(bytearray(BLOCK))
        self.outward, self.inward = EMPTY, EMPTY  # bytes taken from one side, not yet given on
        self.ended = False  # nothing more will come in
        self.said_all = self.was_told = False  # our side sends no more; the peer knows
        self.until = None  # the time to end at, once our side is closed

    def run(self):
        """Runs until either side is closed."""
        try:
            while self._step():
                self._sleep()
        except OSError:  # the connection is lost: our side sees its end
            pass
        finally:
            with contextlib.suppress(*WAIT, OSError, ValueError):
                self.safe.unwrap()  # the polite end, if it needs no waiting
            hang_up(self.safe)
            hang_up(self.inner)
            running.pop(threading.current_thread(), None)

    def _step(self):
        """Moves what can be moved; False at the end."""
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
            while self.outward:  # 16 KB at a time
                self.outward = self.outward[self.safe.send(self.outward) :]
        return not self.said_all or self._goes_on()

    def _goes_on(self):
        """Returns whether there is more to do, once our side sends no more.

        Where it has only ended what it sends, it reads up to the peer's end, and closes in its own
        time: a close here would drop what is still on its way.
        """
        if is_closed(self.inner):
            self.until = self.until or time.monotonic() + LINGER
            return bool(self.outward) and time.monotonic() < self.until
        if not self.outward and not self.was_told:
            self.was_told = True
            socket.socket.shutdown(self.safe, socket.SHUT_WR)  # its own would end reading as well
        return True

    def _take(self):
        """Fills the block with what has come; TLS gives 16 KB at a time."""
        filled = 0
        try:
            while filled < BLOCK and not self.ended:
                got = self.safe.recv_into(self.block[filled:])
                filled += got
                self.ended = not got
        except WAIT:
            pass
        except OSError:  # bytes that came before are still good
            self.ended = True
        self.inward = self.block[:filled]

    def _deliver(self):
        try:
            while self.inward:
                self.inward = self.inward[self.inner.send(self.inward) :]
        except BrokenPipeError:  # our side is closed: nobody reads further bytes
            self.inward = EMPTY

    def _sleep(self):
        """Sleeps until something can be moved. Leaves out idle sides: a closed one always wakes."""
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
    """Returns whether the other end of a socket pair is closed, and not only for sending."""
    poll = select.poll()
    poll.register(sock, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))
