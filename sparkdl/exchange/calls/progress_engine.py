"""Engine that drives all calls of a process: a thread waiting for one call advances all of them."""

import contextlib
import logging
import threading
import time
from collections import deque

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.calls.call_queue import CallQueue
from sparkdl.exchange.links.link import Link
from sparkdl.exchange.links.link_watch import LinkWatch
from sparkdl.exchange.liveness.faults import (
    direct_obstacle,
    explain_error,
    find_silent,
    find_stuck,
    root_obstacle,
)
from sparkdl.exchange.liveness.pause import PauseDetector
from sparkdl.thread_start import start_thread

log = logging.getLogger(__name__)

FLUSH = 1.0  # seconds for sending peers a failure notice or a goodbye


class ProgressEngine:
    """Moves frames between links and calls.

    A call that a thread waits for is driven in that thread, which saves a handover. Calls that run
    in the background are driven by a separate thread.

    Parameters
    ----------
    member : Member
        This process.
    timeout : float
        Seconds of silence after which a peer counts as dead.
    stall_timeout : float
        Seconds without progress after which a call fails, even if all peers are alive.
    """

    def __init__(self, member, timeout, stall_timeout):
        self.member, self.timeout, self.stall_timeout = member, timeout, stall_timeout
        self.failure = None  # the PeerError after which no call can succeed
        self.contexts = 0  # the highest context number given to a sub-group
        self.companions = []  # other components that exchange data and wait, such as CallOrder
        self.queue, self.watch = CallQueue(), LinkWatch()
        self._driving = threading.Lock()
        self._submitted, self._news, self._thread = deque(), threading.Condition(), None
        self._pause_detector = PauseDetector(timeout, 0.0)
        self._next_check, self._next_heartbeat = 0.0, 0.0
        self._closed, self._external_error = False, None

    def link(self, sock, member):
        """Wraps a connected socket to a member in a Link, watches it, and returns it."""
        link = Link(sock, member, self.queue.streams, self.watch.changed)
        self.watch.add(link)
        return link

    def run(self, call):
        """Runs a call and waits for its result."""
        if not self._driving.acquire(blocking=False):
            return self.start(call).wait()
        try:
            self._drive(call)
        finally:
            self._driving.release()
            if self._submitted or self.queue.busy:
                with self._news:
                    self._call_background()
        return call.outcome()

    def start(self, call):
        """Starts a call in the background and returns it."""
        call.in_background()
        with self._news:
            if self._closed:
                call.end(self._closing())
                return call
            self._call_background()
            self._submitted.append(call)  # after what fails where no thread can start
        if self._driving.locked():
            self.watch.ring()
        return call

    def beat(self):
        """Sends heartbeats to all peers, unless a thread drives calls and thereby sends them."""
        if self._driving.acquire(blocking=False):
            try:
                self._beat()
            finally:
                self._driving.release()

    def look(self):
        """Reads messages from peers while no call is in progress, and checks for lost peers."""
        if self._driving.acquire(blocking=False):
            try:
                self._listen(time.monotonic())
            finally:
                self._driving.release()
        self.check()

    @property
    def departed_links(self):
        """Links to peers that have said goodbye."""
        return [link for link in self.watch.links if link.has_left]

    def check(self):
        """Raises the error that a new call would raise at once, if any."""
        if self._closed:
            raise self._closing()
        if self.failure is not None:
            raise self._unusable()

    def fail(self, error):
        """Fails all calls from now on with an error from outside the engine; notifies all peers."""
        with self._news:
            if self._closed:
                return
            self._external_error = explain_error(error, (), self.member)
            self.watch.ring()
        with self._driving:
            if self.failure is None and not self._closed:
                self._fail(self._external_error)

    def close(self):
        """Leaves the group and closes the links; unfinished calls fail."""
        with self._news:
            if self._closed:
                return
            self._closed = True
            self._news.notify()
        self.watch.ring()
        if self._thread is not None:
            self._thread.join()
        with self._driving:
            self._give_up(self._closing())
            if self.failure is None:
                self._tell(lambda link: link.goodbye())
                self.watch.settle(self.timeout)
            self.watch.close()
        for companion in self.companions:
            companion.close()
        self.companions.clear()

    # In the driving thread

    def _drive(self, call=None):
        """Advances all calls until `call` has ended, or all have if it is None."""
        if not self.queue.busy:
            self._pause_detector.begin(time.monotonic())
        if call is not None:
            self._submitted.append(call)
        try:
            self._take()
            while not (call.is_done if call is not None else not self.queue.busy):
                self._turn(awake=call is not None)
                self._take()
        except BaseException as error:
            has_owner = any(other.own_error is error for other in self.queue.active)
            self._fail(error)
            if not (has_owner or isinstance(error, WorkerError)):
                raise

    def _listen(self, now):
        if self._closed or self.failure is not None:
            return
        self._pause_detector.unbroken(now)
        try:
            self.watch.turn(0)
            if self._external_error is not None:
                raise self._external_error
            self._look(now)
        except WorkerError as error:
            self._fail(error)

    def _take(self):
        """Takes over submitted calls and starts those that are ready."""
        while self._submitted:
            call = self._submitted.popleft()
            if self._closed or self.failure is not None:
                call.end(self._closing() if self._closed else self._unusable())
            else:
                self.queue.add(call)
        self.queue.advance()

    def _turn(self, awake):
        """Waits for an event, at most until the next check of the peers."""
        pause = self.timeout / 8
        self.watch.turn(pause, awake)
        if self._external_error is not None:
            raise self._external_error
        now = time.monotonic()
        self._pause_detector.unbroken(now)
        if now >= self._next_check:
            self._next_check = now + pause
            self._look(now)

    def _look(self, now):
        if self._closed:
            raise self._closing()
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self.timeout / 4
            self._beat()
        for link in self.watch.links:
            link.look(now)
        find_silent(self.watch.links, self._pause_detector.since, now, self.timeout)
        find_stuck(self.queue.active, self.watch.links, now, self.stall_timeout)

    def _beat(self):
        awaited_rank = direct_obstacle(self.queue.active)
        end = root_obstacle(self.queue.active, self.watch.links)
        for companion in self.companions:
            companion.await_elsewhere(end)
            awaited_rank = companion.awaited_rank if awaited_rank is None else awaited_rank
        for link in self.watch.links:
            with contextlib.suppress(PeerError):  # the next read from the link finds the cause
                link.beat(awaited_rank)

    # On failure

    def _fail(self, error):
        """Fails all calls from now on, and notifies all peers of the reason."""
        if isinstance(error, WorkerError) and self._closed:
            return self._give_up(error)
        self.failure = explain_error(error, self.queue.active, self.member)
        for companion in self.companions:
            companion.fail(self.failure)
        self._give_up(self.failure)
        self._tell(lambda link: link.abort(self.failure))

    def _tell(self, tell):
        for link in self.watch.links:
            with contextlib.suppress(PeerError):
                tell(link)
        self.watch.flush(FLUSH)

    def _give_up(self, error):
        for call in [*self.queue.clear(), *self._submitted]:
            call.end(call.own_error or type(error)(*error.args))
        self._submitted.clear()

    def _unusable(self):
        rank, host, what = self.failure.args
        return PeerError(rank, host, f"{what}; the group can no longer be used")

    def _closing(self):
        return WorkerError(f"the group has been closed on rank {self.member.rank}")

    # The thread for background calls

    def _call_background(self):
        """Wakes the background thread, starting it if necessary; the caller holds `_news`."""
        if self._thread is None and not self._closed:
            thread = threading.Thread(target=self._background, name="sparkdl-progress", daemon=True)
            start_thread(thread)
            self._thread = thread
        self._news.notify()

    def _background(self):
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closed or self._submitted or self.queue.busy)
                if self._closed:
                    return
            with self._driving:
                try:
                    self._drive()
                except Exception:  # every call has already received it as its error
                    log.exception("a call failed")
