"""Child processes that examine cases; a child that dies is replaced, and its case reported."""

import multiprocessing
from multiprocessing.connection import wait
from time import monotonic

from tests.oracle.memory import fill_in_processes
from tests.oracle.outcomes import Outcome, drawn, examined

PATIENCE = 180.0  # seconds for one case
SPAWNED = multiprocessing.get_context("spawn")


def examine(connection, seed, indices):
    """Examines cases in a child: sends each index, then its Outcome; at last None."""
    for index in indices:
        connection.send(index)
        connection.send(examined(seed, index))
    connection.send(None)


class Child:
    """A process that does `work` on its share of the cases; `starting` creates it."""

    def __init__(self, seed, indices, work=examine, starting=SPAWNED):
        self.seed, self.indices, self.current, self.done = seed, list(indices), None, False
        self.work, self.starting = work, starting
        self._start()

    def _start(self):
        self.connection, theirs = self.starting.Pipe(duplex=False)
        arguments = theirs, self.seed, self.indices
        self.process = self.starting.Process(target=self.work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.heard = monotonic()

    def received(self):
        """Receives a message; returns an Outcome, also of a case that crashed, or None."""
        try:
            message = self.connection.recv()
        except EOFError:
            return self._replaced("crashed")
        self.heard = monotonic()
        if isinstance(message, Outcome):
            return message
        if message is None:
            self.done = True
            self.process.join()
        else:
            self.current = message
        return None

    def overdue(self):
        """Returns a "hung" Outcome if the current case takes too long, else None."""
        if monotonic() - self.heard < PATIENCE:
            return None
        self.process.kill()
        return self._replaced("hung")

    def _replaced(self, kind):
        self.process.join()
        if self.current is None:
            raise RuntimeError(
                f"a process ended with {self.process.exitcode} before its first case"
            )
        index, code = self.current, self.process.exitcode
        self.indices = self.indices[self.indices.index(index) + 1 :]
        self.current = None
        self._start()
        return Outcome(index, kind, f"exit code {code}", case=drawn(self.seed, index).to_dict())


def outcomes(seed, networks, processes, start=0, **options):
    """Yields each case's Outcome as it completes; options are those of Child."""
    fill_in_processes()
    shares = [range(start + i, start + networks, processes) for i in range(processes)]
    children = [Child(seed, share, **options) for share in shares]
    while children:
        by_connection = {child.connection: child for child in children}
        ready = [by_connection[c] for c in wait(list(by_connection), timeout=5)]
        for child in ready:
            outcome = child.received()
            if outcome is not None:
                yield outcome
        for child in children:
            late = None if child in ready or child.done else child.overdue()
            if late is not None:
                yield late
        children = [child for child in children if not child.done]
