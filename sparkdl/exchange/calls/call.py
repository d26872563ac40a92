"""A collective, or a message, that is under way on this rank."""

import threading
import time

from sparkdl.exchange.links.mailbox import Receipt
from sparkdl.exchange.links.tag import stream_of
from sparkdl.exchange.messages.frame import HEADER, MAGIC, Kind

DATA = int(Kind.DATA)


class Call:
    """A collective under way, as its steps see the group and as its caller waits for it.

    The steps are a generator. It sends, which never waits, and yields the receipt of what it needs
    next; what it returns is the result.

    Parameters
    ----------
    links : list of Link or None
        By rank of the group that makes the call; None for this rank.
    rank : int
        Of this process in that group.
    tag : int
    text : str
        For errors: "all_reduce sum of 100 float32".
    shared : bool
        Whether all ranks take part, so that calls have an order.
    steps : callable
        steps(call, *arguments) is the generator.
    """

    def __init__(self, links, rank, tag, text, shared, steps, *arguments):
        self.links, self.rank, self.size = links, rank, len(links)
        self.tag, self.stream, self.text, self.shared = tag, stream_of(tag), text, shared
        self.steps, self.on_end = steps(self, *arguments), None
        self.unsent = 0  # frames that wait for room in a socket
        self.awaited_receipt = None  # the Receipt that the steps need next
        self.last_progress = 0.0  # when it last went on, by the monotonic clock
        self.is_done, self.result, self.error = False, None, None
        self._steps_ended, self._event = False, None

    def send(self, to, view):
        """Sends bytes to a rank; they must stay as they are until the other has them."""
        head = HEADER.pack(MAGIC, DATA, self.tag, len(view))
        self.links[to].send(head, view, self)

    def send_copy(self, to, view):
        """Sends bytes that may change at once: those that find no room yet are copied."""
        head = HEADER.pack(MAGIC, DATA, self.tag, len(view))
        self.links[to].send(head, view, self, copy=True)

    def receive(self, source, view):
        """Returns a Receipt, done when the next bytes of a rank are in `view`."""
        link = self.links[source]
        receipt = Receipt(self.tag, view, link)
        link.post(receipt)
        return receipt

    def advance(self):
        """Goes on until something is needed that has not come."""
        self.last_progress = time.monotonic()
        try:
            while True:
                receipt = next(self.steps)
                if not receipt.done:
                    self.awaited_receipt = receipt
                    receipt.waiter = self
                    return
        except StopIteration as end:
            self.result, self.awaited_receipt, self._steps_ended = end.value, None, True
        if not self.unsent:
            self.end()

    def on_frame_sent(self):
        """Counts a frame that waited as sent."""
        self.unsent -= 1
        if self._steps_ended and not self.unsent:
            self.end()

    def end(self, error=None):
        """Ends the call: with the result, or with an error."""
        self.is_done, self.error = True, error
        if self.on_end is not None:
            self.on_end(self)
        if self._event is not None:
            self._event.set()

    def in_background(self):
        """Allows a thread other than the one that makes progress to wait for the end."""
        self._event = threading.Event()

    def wait(self):
        """Waits for the result; raises what `outcome` raises."""
        self._event.wait()  # ends: the thread that drives gives up at the group's limits
        return self.outcome()

    def outcome(self):
        """Returns the result of a call that has ended; raises its error."""
        if self.error is not None:
            raise self.error
        return self.result
