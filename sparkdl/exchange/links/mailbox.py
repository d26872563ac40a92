"""Mailbox that matches frames with posted receipts, whichever comes first."""

from collections import deque

from sparkdl.errors import DataError
from sparkdl.exchange.links.tag import stream_of


class Receipt:
    """Buffer for one expected frame; advances `waiter`, if there is one, once it is filled."""

    __slots__ = ("done", "link", "tag", "view", "waiter")

    def __init__(self, tag, view, link=None):
        self.tag, self.view, self.link = tag, view, link
        self.done, self.waiter = False, None

    def complete(self):
        self.done = True
        if self.waiter is not None:
            self.waiter.advance()


class UnexpectedFrame:
    """A frame that arrived before its receipt was posted."""

    __slots__ = ("box", "done", "receipt", "tag", "view")

    def __init__(self, tag, length, box):
        self.tag, self.view, self.box = tag, memoryview(bytearray(length)), box
        self.done, self.receipt = False, None

    def complete(self):
        self.done = True
        if self.receipt is not None:
            self.hand_over(self.receipt)

    def hand_over(self, receipt):
        """Copies the frame to a receipt, now or when the frame is complete."""
        if not self.done:
            self.receipt = receipt
            return
        receipt.view[:] = self.view
        self.box.unexpected_bytes -= len(self.view)
        receipt.complete()


class Mailbox:
    """Unexpected frames of one peer, and receipts that wait for frames.

    Parameters
    ----------
    calls : dict
        {stream: tag} of the calls of all ranks in progress on this side.
    """

    def __init__(self, calls):
        self.calls = calls
        self.unexpected_bytes = 0
        self.early, self._waiting = {}, {}  # stream: deque

    @property
    def awaits(self):
        return bool(self._waiting)

    def post(self, receipt):
        """Posts a receipt for the next frame of its stream."""
        stream = stream_of(receipt.tag)
        if stream not in self.early:
            append(self._waiting, stream, receipt)
            return
        frame = pop(self.early, stream)
        check(frame.tag, len(frame.view), receipt)
        frame.hand_over(receipt)

    def arrive(self, tag, length):
        """Returns the Receipt or UnexpectedFrame that receives the body of a new frame."""
        stream = stream_of(tag)
        if stream in self._waiting:
            receipt = pop(self._waiting, stream)
            check(tag, length, receipt)
            return receipt
        if self.calls.get(stream, tag) != tag:
            raise DataError(OTHER_CALL)
        frame = UnexpectedFrame(tag, length, self)
        append(self.early, stream, frame)
        self.unexpected_bytes += length
        return frame

    def begin(self, tag):
        """Records that a call of all ranks begins; raises DataError if the peer began another."""
        queue = self.early.get(stream_of(tag))
        if queue and queue[0].tag != tag:
            raise DataError(OTHER_CALL)


OTHER_CALL = (
    "makes another call: all ranks must make the same calls in the same order, "
    "with arrays of the same type and size"
)


def check(tag, length, receipt):
    if tag != receipt.tag:
        raise DataError(OTHER_CALL)
    if length != len(receipt.view):
        raise DataError(f"{OTHER_CALL} (sent {length} bytes where {len(receipt.view)} were due)")


def append(queues, key, item):
    queue = queues.get(key)
    if queue is None:
        queue = queues[key] = deque()
    queue.append(item)


def pop(queues, key):
    queue = queues[key]
    item = queue.popleft()
    if not queue:
        del queues[key]
    return item
