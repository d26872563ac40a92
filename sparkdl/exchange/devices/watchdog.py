"""Watches what devices do together: NCCL waits for ever for a peer that is gone."""

import logging
import threading
import time
from collections import deque
from contextlib import suppress

from sparkdl.errors import DeviceError, WorkerError

log = logging.getLogger(__name__)

PAUSE = 0.05  # seconds between two looks
SHORT = 20e-6, 2e-3  # seconds between two looks of whoever waits: at first, and at most
GRACE = 2.0  # seconds in which a peer's end shows after NCCL has failed for it, or its last part


class WatchedCall:
    """Something that a device does with the others'; `wait` ends with it, or with an error.

    `work` is None while it is being put on the device, which may wait for the others, too.
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
        """Waits until it is done; raises the PeerError of a call that failed."""
        pause, longest = SHORT
        while not self.is_done:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        if self.watchdog.failure is not None:
            raise self.watchdog.failure
        self.work.take()


class Watchdog:
    """A thread that looks after tickets while there are any.

    It ends what fails, so that nothing on the device waits for ever: if NCCL says so, if a member
    is gone, if a call over sockets has failed, or if a ticket takes longer than the group's
    `stall_timeout`. All members then get the same PeerError, and the link is aborted.

    As a companion of ProgressEngine it waits for nobody of whom it knows (`awaited_rank`).

    Parameters
    ----------
    link : what is given to the DeviceGroup
    group : DeviceGroup
    progress : ProgressEngine
        Of the group. A failure here makes it fail, and the other way round.
    end : function (text)
        Ends the process, soon, unless what it returns is cancelled: to abort may hang, too.
    """

    awaited_rank = None

    def __init__(self, link, group, progress, end):
        self._link, self._group, self._progress, self._end = link, group, progress, end
        self._tickets, self._news, self._thread = deque(), threading.Condition(), None
        self._closed, self.failure = False, None
        self._last_complete = 0.0  # when all members were last seen to be there
        progress.companions.append(self)

    def watch(self, text):
        """Returns the WatchedCall for work that is about to be put on the device."""
        ticket = WatchedCall(self, text)
        with self._news:
            self._tickets.append(ticket)
            self._begin()
        return ticket

    # As a companion of ProgressEngine

    def fail(self, error):
        """Fails the group."""
        with self._news:
            if self.failure is None and not self._closed:
                self.failure = type(error)(*error.args)
                self._begin()

    def await_elsewhere(self, rank):
        """Ignores the rank: a wait for a device learns nothing of what others wait for."""

    def close(self):
        """Lets go of the link, within the group's timeout."""
        with self._news:
            self._closed = True
            self._begin()
        self._thread.join(self._group.timeout)
        if self._thread.is_alive():
            log.warning("rank %d could not leave NCCL", self._group.rank)

    # In the thread

    def _begin(self):
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sparkdl-watchdog", daemon=True)
            self._thread.start()
        self._news.notify()

    def _run(self):
        self._link.use()
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
        except Exception as error:  # also of the device itself, which no other thread sees
            self._progress.fail(error)
        with self._news:
            self._news.wait_for(lambda: self._closed or self.failure, PAUSE)

    def _check(self, oldest):
        """Raises what stands in the way of the oldest ticket."""
        try:
            self._link.check()
        except DeviceError as error:
            raise self._find_cause(oldest, error) from error
        self._progress.look()
        gone, now = self._progress.departed_links, time.monotonic()
        if not gone:
            self._last_complete = now
        if now - max(self._last_complete, oldest.start_time) > GRACE:  # its part would be here
            raise gone[0].trouble(f"has left the group before {oldest.text}")
        if now - oldest.start_time > self._group.stall_timeout:
            what = f"has not done its part of {oldest.text} for {self._group.stall_timeout:g} s"
            raise self._group.missing_error(what)

    def _find_cause(self, ticket, error):
        """Returns the error for NCCL's failure: a peer seen to be gone, or all that were missed."""
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
