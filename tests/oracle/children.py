"""Processes that examine cases; one that dies is replaced, and its case reported."""

import multiprocessing
from multiprocessing.connection import wait
from time import monotonic

from tests.oracle.memory import fill_in_processes
from tests.oracle.outcomes import Outcome, drawn, examined

PATIENCE = 180.0  # seconds for one case
SPAWNED = multiprocessing.get_context("spawn")


def examine(connection, seed, indices):
    """Runs in a child: says which case comes next, then what came of it."""
    for index in indices:
        connection.send(index)
        connection.send(examined(seed, index))
    connection.send(None)


class Child:
    """A process with a share of the cases, at which it does `work`; `starting` starts it."""

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
        """The Outcome that the process has sent, that of a case that killed it, or None."""
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
        """The Outcome of a case that takes too long, or None."""
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
    """Yields the Outcome of each case as it comes; options are those of a Child."""
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
