"""State of one collective or message in progress on this rank."""

import threading
import time

from sparkdl.errors import WorkerError
from sparkdl.exchange.links.mailbox import Receipt
from sparkdl.exchange.links.tag import stream_of
from sparkdl.exchange.messages.frame import HEADER, MAGIC, Kind

DATA = int(Kind.DATA)


class Call:
    """A call in progress: its steps use it to reach the group, its caller to wait for the result.

    The steps are a generator. It sends without ever blocking, yields a Receipt for the data it
    needs next, and returns the call's result.

    Parameters
    ----------
    links : list of Link or None
        By rank of the group that makes the call; None for this rank.
    rank : int
        Of this process in that group.
    tag : int
    text : str
        Description for error messages: "all_reduce sum of 100 float32".
    shared : bool
        Whether all ranks take part, which makes the call subject to the group's call order.
    steps : callable
        steps(call, *arguments) is the generator.
    """

    def __init__(self, links, rank, tag, text, shared, steps, *arguments):
        self.links, self.rank, self.size = links, rank, len(links)
        self.tag, self.stream, self.text, self.shared = tag, stream_of(tag), text, shared
        self.steps, self.on_end = steps(self, *arguments), None
        self.unsent = 0  # frames still waiting for space in a socket buffer
        self.awaited_receipt = None  # the Receipt that the steps are waiting for
        self.last_progress = 0.0  # monotonic time of the last progress
        self.is_done, self.result, self.error = False, None, None
        self.own_error = None  # raised by the steps themselves, such as a codec's DivergedError
        self._steps_ended, self._event = False, None

    def send(self, to, view):
        """Sends bytes to a rank; the buffer must not change until the peer has received them."""
        head = HEADER.pack(MAGIC, DATA, self.tag, len(view))
        self.links[to].send(head, view, self)

    def send_copy(self, to, view):
        """Sends bytes whose buffer may be reused at once: what cannot be sent yet is copied."""
        head = HEADER.pack(MAGIC, DATA, self.tag, len(view))
        self.links[to].send(head, view, self, copy=True)

    def receive(self, source, view):
        """Returns a Receipt that is done once the next bytes from rank `source` are in `view`."""
        link = self.links[source]
        receipt = Receipt(self.tag, view, link)
        link.post(receipt)
        return receipt

    def advance(self):
        """Runs the steps until they need data that has not arrived."""
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
        except Exception as error:
            self.own_error = None if isinstance(error, WorkerError) else error
            raise
        if not self.unsent:
            self.end()

    def on_frame_sent(self):
        """Records that one of the queued frames has been sent."""
        self.unsent -= 1
        self.last_progress = time.monotonic()
        if self._steps_ended and not self.unsent:
            self.end()

    def end(self, error=None):
        """Ends the call, with its result or with an error."""
        self.is_done, self.error = True, error
        if self.on_end is not None:
            self.on_end(self)
        if self._event is not None:
            self._event.set()

    def in_background(self):
        """Allows threads other than the progress thread to wait for the end."""
        self._event = threading.Event()

    def wait(self):
        """Waits for the result; raises what `outcome` raises."""
        self._event.wait()  # always ends: the driving thread enforces the group's time limits
        return self.outcome()

    def outcome(self):
        """Returns the result of a finished call, or raises its error."""
        if self.error is not None:
            raise self.error
        return self.result
