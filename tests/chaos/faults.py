"""Faults of processes, and the thread that causes one in the middle of a fit."""

import time
from contextlib import suppress
from threading import Event, Thread

import psutil

from tests.spark.slow import executor_of

LIMIT = 8.0  # seconds of silence after which a worker counts as lost
SHORT, LONG = 0.25 * LIMIT, 3 * LIMIT


def stopping(seconds):
    def stop(process):
        process.suspend()
        time.sleep(seconds)
        with suppress(psutil.NoSuchProcess):
            process.resume()

    return stop


FAULTS = {
    "worker killed": lambda worker: worker.kill(),
    "executor killed": lambda worker: executor_of(worker).kill(),
    "worker stopped, short": stopping(SHORT),
    "worker stopped, long": stopping(LONG),
    "executor stopped, short": lambda worker: stopping(SHORT)(executor_of(worker)),
    "executor stopped, long": lambda worker: stopping(LONG)(executor_of(worker)),
}


class Striker(Thread):
    """Does something to a worker, once all workers together have trained so many minibatches.

    Parameters
    ----------
    slow : Slow
        The transform of the fit.
    after : int
    choose : function of a list of processes that returns one
    do : function of a psutil.Process

    Attributes
    ----------
    struck : bool
        Whether it has come to that.
    """

    def __init__(self, slow, after, choose, do):
        super().__init__(daemon=True)
        self._slow, self._after, self._choose, self._do = slow, after, choose, do
        self._over, self.struck = Event(), False

    def run(self):
        while len(self._slow.calls()) <= self._after:
            if self._over.wait(0.02):
                return
        own = {one.pid: one for one in psutil.Process().children(recursive=True)}
        victims = [own[pid] for pid in sorted(self._slow.processes()) if pid in own]
        if victims:
            self.struck = True
            with suppress(psutil.NoSuchProcess):
                self._do(self._choose(victims))

    def end(self):
        """Waits until the fault is over; one that has not begun does not come any more."""
        self._over.set()
        self.join()
