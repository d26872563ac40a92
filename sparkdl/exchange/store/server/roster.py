"""Roster of the workers that take part in a store, and how to wait for others."""

import time
from threading import Lock

from sparkdl.errors import PeerError


class Roster:
    """The ranks that still work, and the failure, if there is one.

    A worker that leaves in order is waited for no longer. One that is lost fails the store: all
    waits end, now and later, with the same error.

    Parameters
    ----------
    size : int
        Number of workers.
    host : str
        Where this roster is kept, for errors.
    stall_timeout : float
        Seconds that a wait may take while all are alive.
    """

    def __init__(self, size, host, stall_timeout):
        self.size, self.host, self.stall_timeout = size, host, stall_timeout
        self.active = set(range(size))
        self.failure = None
        self._lock, self._watchers, self._listeners = Lock(), [], []

    def watch(self, condition):
        """Notifies this Condition, from now on, when a rank leaves and of a failure."""
        with self._lock:
            self._watchers.append(condition)

    def on_failure(self, tell):
        """Calls tell() once the store has failed."""
        with self._lock:
            self._listeners.append(tell)

    def leave(self, rank):
        """Ends the waits for this rank."""
        with self._lock:
            self.active = self.active - {rank}
        self._notify()

    def resume(self, rank):
        """Makes the waits include this rank again."""
        with self._lock:
            self.active = self.active | {rank}

    def fail(self, error):
        """Ends all waits with this PeerError; the first one counts."""
        with self._lock:
            failed_before, self.failure = self.failure, self.failure or error
            listeners = [] if failed_before else list(self._listeners)
        self._notify()
        for tell in listeners:
            tell()

    def check(self):
        """Raises the PeerError, if the store has failed."""
        if self.failure:
            raise PeerError(self.failure.rank, self.failure.host, self.failure.what)

    def wait(self, condition, holds, missing, waiting_for):
        """Waits, with `condition` held, until holds(); it may let go meanwhile.

        Parameters
        ----------
        missing : callable
            The ranks that are waited for, for the error.
        waiting_for : str
            What is waited for, for the error.

        Raises
        ------
        PeerError
            If the store fails meanwhile, or `stall_timeout` passes.
        """
        end = time.monotonic() + self.stall_timeout
        while not holds():
            self.check()
            remaining = end - time.monotonic()
            if remaining <= 0:
                ranks = sorted(missing())
                seconds = f"{self.stall_timeout:g} s"
                what = f"waited {seconds} for {waiting_for} of ranks {ranks}, who are alive"
                raise PeerError(min(ranks, default=None), self.host, what)
            condition.wait(remaining)

    def _notify(self):
        with self._lock:
            watchers = list(self._watchers)
        for condition in watchers:
            with condition:
                condition.notify_all()
