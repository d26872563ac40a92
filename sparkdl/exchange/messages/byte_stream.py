"""Byte stream to and from one peer over a socket, with a time limit on each wait."""

import contextlib
import select
import socket
import time

from sparkdl.exchange.connections.checksums import CHECKSUM, checksums_of
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.sockets import hang_up

AT_ONCE = 64  # buffers per system call
NEVER = Deadline(None)


class StreamLoss(Exception):
    """The peer is lost, has hung up or accepts no data; the message says which."""


class Stream:
    """Takes over a connected socket; one thread may read while another sends.

    Parameters
    ----------
    sock : socket
    timeout : float
        Seconds without a single byte after which the peer counts as dead.

    Attributes
    ----------
    checksum : int
        Length of the checksum after each piece of a frame, 0 without checksums.
    """

    def __init__(self, sock, timeout):
        self._sock, self.timeout = sock, timeout
        self._last_received = time.monotonic()
        self._sending, self._receiving = checksums_of(sock)
        self.checksum = 0 if self._receiving is None else CHECKSUM
        sock.setblocking(False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)

    def frame(self, pieces):
        """Returns the buffers to send for the pieces of a frame, the first being the header."""
        return pieces if self._sending is None else self._sending.frame(*pieces)

    def checked(self, head):
        """Returns a header without its checksum; raises DataError if the checksum is wrong."""
        return head if self._receiving is None else self._receiving.checked(head)

    def fill_checked(self, view):
        """Does `fill` for the next piece of a frame; raises DataError if its checksum is wrong."""
        self.fill(view)
        if self._receiving is not None:
            checksum = memoryview(bytearray(CHECKSUM))
            self.fill(checksum)
            self._receiving.check(view, checksum)

    def send(self, views):
        """Sends all bytes of a list of memoryviews, emptying it; raises StreamLoss on failure."""
        while views:
            try:
                sent = self._sock.sendmsg(views[:AT_ONCE])
            except BlockingIOError:
                if not self._writable.poll(1000 * self.timeout):
                    raise StreamLoss(f"accepted nothing for {self.timeout:g} s") from None
                continue
            except OSError as error:
                raise StreamLoss(f"is gone: {error}") from error
            while views and sent >= len(views[0]):
                sent -= len(views.pop(0))
            if sent:
                views[0] = views[0][sent:]

    def offer(self, data):
        """Sends as much of `data` as possible without blocking; returns the bytes sent."""
        try:
            return self._sock.send(data)
        except OSError:
            return 0

    def fill(self, view, deadline=NEVER):
        """Fills `view` completely; raises StreamLoss if the peer is lost or silent."""
        while view:
            view = view[self.read(view, deadline) :]

    def read(self, view, deadline):
        """Reads some bytes; returns how many.

        Raises TimeoutError at the deadline, and StreamLoss as `fill`.
        """
        while True:
            try:
                got = self._sock.recv_into(view)
            except BlockingIOError:
                self._await_bytes(deadline)
                continue
            except OSError as error:
                raise StreamLoss(f"is gone: {error}") from error
            if not got:
                raise StreamLoss("hung up")
            self._last_received = time.monotonic()
            return got

    def end(self):
        """Shuts down sending: the peer sees the end of the stream after all data sent."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def drain(self, deadline):
        """Reads until the peer hangs up: it has then received everything, or is lost."""
        rest = memoryview(bytearray(1 << 16))
        with contextlib.suppress(TimeoutError, StreamLoss):
            while True:
                self.read(rest, deadline)

    def close(self):
        """Hangs up; threads that are reading or sending get StreamLoss."""
        hang_up(self._sock)

    def _await_bytes(self, deadline):
        start = time.monotonic()
        silent = start - self._last_received  # the socket is empty, so nothing came since
        if silent >= self.timeout:
            raise StreamLoss(f"was silent for {self.timeout:g} s")
        remaining = deadline.remaining()
        wait = self.timeout - silent if remaining is None else min(remaining, self.timeout - silent)
        self._readable.poll(1000 * wait)
        if (now := time.monotonic()) - start > wait + self.timeout / 2:
            self._last_received = now  # this process was paused: do not blame the peer
