"""Drives all calls of a process at the same time: a thread that waits for one advances all."""

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

log = logging.getLogger(__name__)

FLUSH = 1.0  # seconds for telling the others of a failure, or goodbye


class ProgressEngine:
    """Moves frames between links and calls.

    A call that somebody waits for is driven in that thread, as handing it to another costs time;
    calls that run beside the computation are driven in a thread of their own.

    Parameters
    ----------
    member : Member
        This process.
    timeout : float
        Seconds of silence after which a peer counts as dead.
    stall_timeout : float
        Seconds after which a call that does not go on has failed, though all peers live.
    """

    def __init__(self, member, timeout, stall_timeout):
        self.member, self.timeout, self.stall_timeout = member, timeout, stall_timeout
        self.failure = None  # the PeerError after which no call can succeed
        self.contexts = 0  # the highest number that a sub-group has
        self.companions = []  # such as CallOrder: other ways by which ranks exchange, and wait
        self.queue, self.watch = CallQueue(), LinkWatch()
        self._driving = threading.Lock()
        self._submitted, self._news, self._thread = deque(), threading.Condition(), None
        self._pause_detector = PauseDetector(timeout, 0.0)
        self._next_check, self._next_heartbeat = 0.0, 0.0
        self._closed, self._external_error = False, None

    def link(self, sock, member):
        """Returns the Link to a member over a connected socket, from now on watched."""
        link = Link(sock, member, self.queue.streams, self.watch.changed)
        self.watch.add(link)
        return link

    def run(self, call):
        """Makes a call and waits for its result."""
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
        """Begins a call that runs beside the caller's next work; returns it."""
        call.in_background()
        with self._news:
            if self._closed:
                call.end(self._closing())
                return call
            self._submitted.append(call)
            self._call_background()
        if self._driving.locked():
            self.watch.ring()
        return call

    def beat(self):
        """Sends heartbeats to all peers; the thread that drives the calls does so as well."""
        if self._driving.acquire(blocking=False):
            try:
                self._beat()
            finally:
                self._driving.release()

    def look(self):
        """Reads what peers say while no call is under way, and checks who is gone."""
        if self._driving.acquire(blocking=False):
            try:
                self._listen(time.monotonic())
            finally:
                self._driving.release()
        self.check()

    @property
    def departed_links(self):
        """[Link] to peers that have said goodbye."""
        return [link for link in self.watch.links if link.has_left]

    def check(self):
        """Raises what a call would raise at once."""
        if self._closed:
            raise self._closing()
        if self.failure is not None:
            raise self._unusable()

    def fail(self, error):
        """Fails all calls from now on, for a reason outside of them, and notifies all peers."""
        with self._news:
            if self._closed:
                return
            self._external_error = explain_error(error, (), self.member)
            self.watch.ring()
        with self._driving:
            if self.failure is None and not self._closed:
                self._fail(self._external_error)

    def close(self):
        """Leaves the group and closes the links; calls that have not ended fail."""
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

    # In the thread that drives

    def _drive(self, call=None):
        """Moves all calls on until `call` has ended, or all have."""
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
            self._fail(error)
            if not isinstance(error, WorkerError):
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
        """Begins what has been handed over and what may begin now."""
        while self._submitted:
            call = self._submitted.popleft()
            if self._closed or self.failure is not None:
                call.end(self._closing() if self._closed else self._unusable())
            else:
                self.queue.add(call)
        self.queue.advance()

    def _turn(self, awake):
        """Waits for something to happen, at most until it is time to look after peers."""
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
            with contextlib.suppress(PeerError):  # a read from it finds the cause
                link.beat(awaited_rank)

    # When it cannot go on

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
            call.end(type(error)(*error.args))
        self._submitted.clear()

    def _unusable(self):
        rank, host, what = self.failure.args
        return PeerError(rank, host, f"{what}; the group cannot be used since then")

    def _closing(self):
        return WorkerError(f"the group has been closed on rank {self.member.rank}")

    # The thread for calls that no thread waits for yet

    def _call_background(self):
        """Wakes it, with `_news` held; it begins with the first of them."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(
                target=self._background, name="sparkdl-progress", daemon=True
            )
            self._thread.start()
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
                except Exception:  # all calls have got it as their error
                    log.exception("a call failed")
