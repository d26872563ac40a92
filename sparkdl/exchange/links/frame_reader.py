"""Incoming side of a connection: reads each frame into its memory, and never waits."""

import socket

from sparkdl.exchange.messages.frame import HEADER

HEAD = HEADER.size
STAGE = 8 << 10  # bytes read at once while it is not known what comes
AT_ONCE = 2 << 20  # bytes read before others get a turn
MUCH, MOST = 32 << 10, 1 << 20  # bytes: what is worth to wait for, and what is enough to wake up


class LinkLoss(Exception):
    """The peer is gone or has hung up; the message says which."""


class FrameReader:
    """Splits into frames what a non-blocking socket has.

    The rest of a long frame is awaited in large parts: the socket does not count as ready before,
    so the thread that watches it sleeps while packets come, and each part costs one system call.

    Parameters
    ----------
    sock : socket
    opened : callable
        opened(header bytes) gives what the frame is for: its bytes are read to `view` of that, and
        then its `complete` is called, which may return what the bytes behind it are for.
    head : int
        Bytes of a header.
    """

    def __init__(self, sock, opened, head=HEAD):
        self._sock, self._opened, self._head = sock, opened, head
        self._stage, self._filled = bytearray(STAGE), 0
        self._stage_view = memoryview(self._stage)
        self._body = self._goal = None  # the memory left to fill, and its receipt
        self._least = 1  # bytes at which the socket counts as ready

    @property
    def may_have_more(self):
        """True if there may be something to read though the socket does not count as ready."""
        return self._least > 1

    def read(self):
        """Takes in what has come, as far as it fits in one turn; returns the bytes.

        Raises LinkLoss, and what `opened` and `complete` raise.
        """
        total, more = 0, True
        while more and total < AT_ONCE:
            got, more = self._pull()
            total += got
        self._await()
        return total

    def _pull(self):
        """Returns (bytes read, whether there may be more)"""
        stage = self._stage_view[self._filled :]
        try:
            if self._body is None:
                room, got = len(stage), self._sock.recv_into(stage)
            else:  # the stage is empty then
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
        """Puts so many bytes into what is left of a frame, and then into the stage."""
        if self._body is not None:
            count = min(got, len(self._body))
            self._body = self._body[count:]
            got -= count
            self._complete()
        self._filled += got
        if self._filled:
            self._unpack()

    def _unpack(self):
        """Splits what lies in the stage: frames, and the beginning of one."""
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
        """Has the next bytes read to the view of a goal; None: a header comes next."""
        self._goal, self._body = goal, None if goal is None else goal.view

    def _await(self):
        """Sets how many bytes must have come before the socket counts as ready."""
        remaining = 0 if self._body is None else len(self._body)
        least = min(remaining, MOST) if remaining >= MUCH else 1
        if least != self._least:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least)
            self._least = least
