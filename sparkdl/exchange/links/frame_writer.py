"""Outgoing side of a connection: sends frames at once, or when there is room, without blocking."""

from collections import deque

from sparkdl.exchange.messages.frame import HEADER

PIECES = 32  # buffers per system call


class FrameWriter:
    """Sends frames over a non-blocking socket.

    Parameters
    ----------
    sock : socket
    checksums : Checksums, optional
        Checksums to add to the frames.

    Attributes
    ----------
    sent : int
        Bytes handed to the socket.
    """

    def __init__(self, sock, checksums=None):
        self.sent = 0
        self._sock, self._checksums = sock, checksums
        self._queue = deque()  # entries of [views, call or None, whether partly sent]

    @property
    def waiting(self):
        return bool(self._queue)

    @property
    def has_call_frames(self):
        """True if frames of calls are queued."""
        return any(call is not None for _, call, _ in self._queue)

    def send(self, head, view, call, copy):
        """Sends a frame; returns whether it, or a part, is queued, which `call.unsent` counts.

        With `copy`, `view` may be changed afterwards.
        """
        sent, views = 0, self._frame(head, view)
        if not self._queue:
            sent = self._push(views)
            if sent == sum(map(len, views)):
                return False
            views = unsent_views(views, sent)
        if copy:
            views = [memoryview(b"".join(views))]
        self._queue.append([views, call, sent > 0])
        call.unsent += 1
        return True

    def add(self, data):
        """Queues a frame that belongs to no call."""
        data = memoryview(data)
        self._queue.append([self._frame(data[: HEADER.size], data[HEADER.size :]), None, False])

    def drop(self):
        """Drops all frames not yet begun."""
        begun = deque(entry for entry in self._queue if entry[2])
        if self._checksums is not None:
            self._checksums.take_back(len(self._queue) - len(begun))
        self._queue = begun

    def _frame(self, head, view):
        """Returns the buffers of a frame."""
        return [head, view] if self._checksums is None else self._checksums.frame(head, view)

    def flush(self):
        """Sends queued data as far as there is room."""
        while self._queue:
            sent = self._push([view for entry in self._queue for view in entry[0]][:PIECES])
            if not sent:
                return
            self._remove_sent(sent)

    def _remove_sent(self, count):
        while count:
            entry = self._queue[0]
            length = sum(map(len, entry[0]))
            if count < length:
                entry[0], entry[2] = unsent_views(entry[0], count), True
                return
            count -= length
            self._queue.popleft()
            if entry[1] is not None:
                entry[1].on_frame_sent()

    def _push(self, views):
        try:
            sent = self._sock.sendmsg(views)
        except BlockingIOError:
            return 0
        except OSError:
            return 0  # the next read finds the reason
        self.sent += sent
        return sent


def unsent_views(views, count):
    """Returns what remains of `views` after `count` bytes."""
    remaining = []
    for view in views:
        if count < len(view):
            remaining.append(view[count:])
            count = 0
        else:
            count -= len(view)
    return remaining
