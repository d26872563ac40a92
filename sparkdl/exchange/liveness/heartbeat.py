"""Heartbeats: one thread per process that tells all peers that this process is alive.

A process that is stopped, or whose host is gone, falls silent. One that computes for minutes does
not: kernels and numpy let other threads run meanwhile.
"""

import logging
import threading
import time
import weakref

log = logging.getLogger(__name__)


class Heartbeat:
    """Calls `beat()` of each registered object every so many seconds; keeps none of them alive."""

    def __init__(self):
        self._due = weakref.WeakKeyDictionary()  # thing: [seconds between beats, time of the next]
        self._changed = threading.Condition()
        self._thread = None

    def add(self, thing, every):
        """Calls `thing.beat()`, which must not block, every `every` seconds from now on."""
        with self._changed:
            self._due[thing] = [every, time.monotonic() + every]
            if self._thread is None or not self._thread.is_alive():  # it does not survive a fork
                self._thread = threading.Thread(target=self._run, name="sparkdl-pulse", daemon=True)
                self._thread.start()
            self._changed.notify()

    def discard(self, thing):
        """Ends the beats of `thing`; the thread ends with the last one."""
        with self._changed:
            self._due.pop(thing, None)
            self._changed.notify()

    def _run(self):
        while True:
            with self._changed:
                if not self._due:
                    self._thread = None
                    return
                nearest = min(moment for _, moment in self._due.values())
                self._changed.wait(max(0.0, nearest - time.monotonic()))
                things = self._take_due(time.monotonic())
            for thing in things:
                self._beat(thing)
            del things

    def _take_due(self, now):
        due = [thing for thing, (_, moment) in self._due.items() if moment <= now]
        for thing in due:
            self._due[thing][1] = now + self._due[thing][0]
        return due

    def _beat(self, thing):
        try:
            thing.beat()
        except Exception:
            log.exception("no more heartbeats of %r", thing)
            self.discard(thing)


PULSE = Heartbeat()
