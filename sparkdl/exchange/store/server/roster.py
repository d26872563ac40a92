"""Roster of the active workers of a store, and waits for them."""

import time
from threading import Lock

from sparkdl.errors import PeerError


class Roster:
    """The active ranks, and the store's failure, if any.

    Waits no longer include a worker that leaves in order. A lost worker fails the store: all
    present and future waits end with the same error.

    Parameters
    ----------
    size : int
        Number of workers.
    host : str
        Host of this roster, for errors.
    stall_timeout : float
        Seconds that a wait may take while all workers are alive.

    Attributes
    ----------
    hosts : {rank: host}
        Of the workers that have connected, for errors.
    """

    def __init__(self, size, host, stall_timeout):
        self.size, self.host, self.stall_timeout = size, host, stall_timeout
        self.active, self.hosts = set(range(size)), {}
        self.failure = None
        self._lock, self._watchers, self._listeners = Lock(), [], []

    def watch(self, condition):
        """Notifies this Condition from now on when a rank leaves or the store fails."""
        with self._lock:
            self._watchers.append(condition)

    def on_failure(self, tell):
        """Calls tell() when the store fails."""
        with self._lock:
            self._listeners.append(tell)

    def leave(self, rank):
        """Removes this rank from the active ones, which ends the waits for it."""
        with self._lock:
            self.active = self.active - {rank}
        self._notify()

    def resume(self, rank):
        """Makes this rank active again."""
        with self._lock:
            self.active = self.active | {rank}

    def fail(self, error):
        """Ends all waits with this PeerError, unless the store has failed before."""
        with self._lock:
            failed_before, self.failure = self.failure, self.failure or error
            listeners = [] if failed_before else list(self._listeners)
        self._notify()
        for tell in listeners:
            tell()

    def check(self):
        """Raises the PeerError if the store has failed."""
        if self.failure:
            raise PeerError(self.failure.rank, self.failure.host, self.failure.what)

    def wait(self, condition, holds, missing, waiting_for):
        """Waits until holds(); the caller holds `condition`, which is released meanwhile.

        Parameters
        ----------
        missing : callable
            Returns the ranks waited for, for the error.
        waiting_for : str
            Description of the wait, for the error.

        Raises
        ------
        PeerError
            If the store fails, or `stall_timeout` expires.
        """
        end = time.monotonic() + self.stall_timeout
        while not holds():
            self.check()
            remaining = end - time.monotonic()
            if remaining <= 0:
                ranks = sorted(missing())
                seconds = f"{self.stall_timeout:g} s"
                what = (
                    f"the server on {self.host} waited {seconds} for {waiting_for} of ranks "
                    f"{ranks}, who are alive"
                )
                rank = min(ranks, default=None)
                raise PeerError(rank, self.hosts.get(rank, "an unknown host"), what)
            condition.wait(remaining)

    def _notify(self):
        with self._lock:
            watchers = list(self._watchers)
        for condition in watchers:
            with condition:
                condition.notify_all()
