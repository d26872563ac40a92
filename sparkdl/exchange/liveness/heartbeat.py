"""Heartbeats: one thread per process tells all peers that this process is alive.

A stopped process, or one whose host is lost, falls silent. A process busy computing does not:
kernels and numpy release the interpreter lock.
"""

import logging
import threading
import time
import weakref

from sparkdl.thread_start import start_thread

log = logging.getLogger(__name__)


class Heartbeat:
    """Calls `beat()` of each registered object at its interval, through weak references."""

    def __init__(self):
        self._due = weakref.WeakKeyDictionary()  # {target: [seconds between beats, next]}
        self._changed = threading.Condition()
        self._thread = None

    def add(self, target, every):
        """Calls `target.beat()`, which must not block, every `every` seconds from now on."""
        with self._changed:
            self._due[target] = [every, time.monotonic() + every]
            if self._thread is None or not self._thread.is_alive():  # threads do not survive a fork
                thread = threading.Thread(target=self._run, name="sparkdl-heartbeat", daemon=True)
                start_thread(thread)
                self._thread = thread
            self._changed.notify()

    def discard(self, target):
        """Stops the beats of `target`; the thread ends with the last target."""
        with self._changed:
            self._due.pop(target, None)
            self._changed.notify()

    def _run(self):
        while True:
            with self._changed:
                if not self._due:
                    self._thread = None
                    return
                nearest = min(time_of_next for _, time_of_next in self._due.values())
                self._changed.wait(max(0.0, nearest - time.monotonic()))
                targets = self._take_due(time.monotonic())
            while targets:
                self._beat(targets.pop())  # keep no reference to it until the next beat

    def _take_due(self, now):
        due = [target for target, (_, time_of_next) in self._due.items() if time_of_next <= now]
        for target in due:
            self._due[target][1] = now + self._due[target][0]
        return due

    def _beat(self, target):
        try:
            target.beat()
        except Exception:
            log.exception("no more heartbeats of %r", target)
            self.discard(target)


HEARTBEAT = Heartbeat()
