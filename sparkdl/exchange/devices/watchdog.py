"""Watchdog for joint work of devices: NCCL would wait forever for a lost peer."""

import logging
import threading
import time
from collections import deque
from contextlib import suppress

from sparkdl.errors import DeviceError, WorkerError
from sparkdl.thread_start import start_thread

log = logging.getLogger(__name__)

PAUSE = 0.05  # seconds between checks
SHORT = 20e-6, 2e-3  # seconds between a waiter's checks, initial and largest
GRACE = 2.0  # seconds for a lost peer to show after NCCL has failed, or for its last data to arrive


class WatchedCall:
    """Joint work of devices; `wait` returns when it is done and raises its error.

    `work` is None while the work is being submitted, which may block on other members as well.
    """

    def __init__(self, watchdog, text):
        self.watchdog, self.text, self.work = watchdog, text, None
        self.start_time = time.monotonic()

    @property
    def is_reached(self):
        return self.work is not None and self.work.is_reached()

    @property
    def is_done(self):
        return self.watchdog.failure is not None or self.is_reached

    def wait(self):
        """Waits for the work; raises the PeerError if it failed."""
        pause, longest = SHORT
        while not self.is_done:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        if self.watchdog.failure is not None:
            raise self.watchdog.failure
        self.work.take()


class Watchdog:
    """A thread that monitors submitted WatchedCalls.

    It aborts the link, so that no work on the device waits forever, if NCCL reports an error, a
    member is lost, a call over sockets has failed, or a call takes longer than the group's
    `stall_timeout`. All members then get the same PeerError.

    As a companion of ProgressEngine it does not know which rank it waits for, so `awaited_rank` is
    None.

    Parameters
    ----------
    link : the link of the DeviceGroup
    group : DeviceGroup
    progress : ProgressEngine
        Of the group. Failures propagate in both directions.
    end : function (text)
        Ends the process after a delay, unless its result is cancelled: aborting may hang, too.

    Raises
    ------
    NoThread
    """

    awaited_rank = None

    def __init__(self, link, group, progress, end):
        self._link, self._group, self._progress, self._end = link, group, progress, end
        self._tickets, self._news = deque(), threading.Condition()
        self._closed, self.failure = False, None
        self._last_complete = 0.0  # when all members were last present
        self._thread = threading.Thread(target=self._run, name="sparkdl-watchdog", daemon=True)
        start_thread(self._thread)  # now, as a failure may be that no more threads can start
        progress.companions.append(self)

    def watch(self, text):
        """Returns the WatchedCall for work about to be submitted to the device."""
        ticket = WatchedCall(self, text)
        with self._news:
            self._tickets.append(ticket)
            self._news.notify()
        return ticket

    # Interface of a companion of ProgressEngine

    def fail(self, error):
        """Records the group's failure, and lets the thread abort the link."""
        with self._news:
            if self.failure is None and not self._closed:
                self.failure = type(error)(*error.args)
                self._news.notify()

    def await_elsewhere(self, rank):
        """Ignores the rank: a wait for a device has no use for it."""

    def close(self):
        """Destroys the link, within the group's timeout."""
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join(self._group.timeout)
        if self._thread.is_alive():
            log.warning("rank %d could not leave NCCL", self._group.rank)

    # In the watchdog thread

    def _run(self):
        try:
            self._link.use()
        except Exception as error:  # of the device
            self._progress.fail(error)
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closed or self.failure or self._tickets)
            if self.failure is not None:
                return self._abort()
            if self._closed:
                return self._link.destroy()
            self._look()

    def _look(self):
        try:
            while self._tickets and self._tickets[0].is_reached:
                self._tickets.popleft()
            if not self._tickets:
                return
            self._check(self._tickets[0])
        except Exception as error:  # includes device errors, which no other thread would see
            self._progress.fail(error)
        with self._news:
            self._news.wait_for(lambda: self._closed or self.failure, PAUSE)

    def _check(self, oldest):
        """Raises the error that prevents the oldest call from finishing, if there is one."""
        try:
            self._link.check()
        except DeviceError as error:
            raise self._find_cause(oldest, error) from error
        self._progress.look()
        gone, now = self._progress.departed_links, time.monotonic()
        if not gone:
            self._last_complete = now
        if now - max(self._last_complete, oldest.start_time) > GRACE:  # its data would have arrived
            raise gone[0].trouble(f"has left the group before {oldest.text}")
        if now - oldest.start_time > self._group.stall_timeout:
            what = f"has not done its part of {oldest.text} for {self._group.stall_timeout:g} s"
            raise self._group.missing_error(what)

    def _find_cause(self, ticket, error):
        """Returns the error behind an NCCL failure: a lost peer if seen, else all other members."""
        end = time.monotonic() + GRACE
        with suppress(WorkerError):
            while time.monotonic() < end:
                self._progress.look()
                time.sleep(PAUSE)
            return self._group.missing_error(f"NCCL failed in {ticket.text}: {error}")
        return self._progress.failure

    def _abort(self):
        log.warning("rank %d gives up NCCL: %s", self._group.rank, self.failure)
        ending = self._end(f"rank {self._group.rank} cannot give up NCCL, so its process ends")
        self._link.abort()
        ending.cancel()
