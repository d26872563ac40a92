"""Incoming side of a connection: reads each frame into its buffer without blocking."""

import socket

from sparkdl.exchange.messages.frame import HEADER

HEAD = HEADER.size
STAGE = 8 << 10  # bytes read at once while the next frame is unknown
AT_ONCE = 2 << 20  # bytes read before other links get a turn
MUCH, MOST = 32 << 10, 1 << 20  # bytes: smallest remainder worth waiting for, and largest wait


class LinkLoss(Exception):
    """The connection is lost or was closed by the peer; the message says which."""


class FrameReader:
    """Splits the data from a non-blocking socket into frames.

    For the rest of a long frame it sets a low-water mark, so the socket becomes ready only once a
    large part has arrived: the watching thread sleeps while packets come in, and reads each part
    with one system call.

    Parameters
    ----------
    sock : socket
    opened : callable
        opened(header bytes) returns the goal of the frame. The body is read into the goal's `view`,
        and then its `complete` is called, which may return the goal of the bytes that follow.
    head : int
        Length of a header in bytes.
    """

    def __init__(self, sock, opened, head=HEAD):
        self._sock, self._opened, self._head = sock, opened, head
        self._stage, self._filled = bytearray(STAGE), 0
        self._stage_view = memoryview(self._stage)
        self._body = self._goal = None  # the buffer left to fill, and its goal
        self._least = 1  # bytes at which the socket becomes ready

    @property
    def may_have_more(self):
        """True if data may be available although the socket is not ready."""
        return self._least > 1

    def read(self):
        """Reads the available data, up to a limit per turn; returns the number of bytes.

        Raises LinkLoss, and any error of `opened` and `complete`.
        """
        total, more = 0, True
        while more and total < AT_ONCE:
            got, more = self._pull()
            total += got
        self._await()
        return total

    def _pull(self):
        """Returns (bytes read, whether there may be more)."""
        stage = self._stage_view[self._filled :]
        try:
            if self._body is None:
                room, got = len(stage), self._sock.recv_into(stage)
            else:  # the stage is empty in this case
                room = len(self._body) + STAGE
                got = self._sock.recvmsg_into([self._body, stage])[0]
        except BlockingIOError:
            return 0, False
        except OSError as error:
            raise LinkLoss(f"is gone: {error}") from error
        if not got:
            raise LinkLoss("hung up")
        self._take(got)
        return got, got == room

    def _take(self, got):
        """Accounts for `got` bytes: first the rest of a frame, then the stage."""
        if self._body is not None:
            count = min(got, len(self._body))
            self._body = self._body[count:]
            got -= count
            self._complete()
        self._filled += got
        if self._filled:
            self._unpack()

    def _unpack(self):
        """Splits the contents of the stage into frames; an incomplete header stays there."""
        at, end = 0, self._filled
        while at < end:
            if self._body is None:
                if end - at < self._head:
                    break
                self._read_to(self._opened(self._stage_view[at : at + self._head]))
                at += self._head
            count = min(end - at, len(self._body))
            self._body[:count] = self._stage_view[at : at + count]
            self._body = self._body[count:]
            at += count
            self._complete()
        self._stage[: end - at] = self._stage[at:end]
        self._filled = end - at

    def _complete(self):
        if not self._body:
            self._read_to(self._goal.complete())

    def _read_to(self, goal):
        """Reads the next bytes into the view of a goal; None: a header comes next."""
        self._goal, self._body = goal, None if goal is None else goal.view

    def _await(self):
        """Sets the number of bytes at which the socket becomes ready."""
        remaining = 0 if self._body is None else len(self._body)
        least = min(remaining, MOST) if remaining >= MUCH else 1
        if least != self._least:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least)
            self._least = least
