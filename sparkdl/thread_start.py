"""Starts threads; a process that may have no more of them says so, and what to raise."""

import os
import platform
import threading
import weakref
from typing import Any

from sparkdl.errors import WorkerError

CURE = (
    "raise the number of processes (ulimit -u, pids.max of a container) or the address space "
    "(ulimit -v, spark.executor.pyspark.memory) that it may have"
)
TICK = 0.1  # seconds between two looks whether a thread has ended before it began


class NoThread(WorkerError):
    """This process may have no more threads."""


def start_thread(thread: threading.Thread) -> None:
    """Starts a thread.

    Python itself waits forever for a thread that has no memory to begin.

    Raises
    ------
    NoThread
        With this process, its host and a cure.
    """
    if hasattr(thread, "_bootstrap"):  # else Python's code has other names than up to 3.14
        vars(thread)["_started"] = Beginning(thread)
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        why = str(error) or "a new thread has no memory"
        cure = "" if "shutdown" in why else f"; {CURE}"
        raise NoThread(f"process {os.getpid()} on {platform.node()}: {why}{cure}") from error


class Beginning(threading.Event):
    """The event for which `Thread.start` waits: set once the thread runs.

    Its `wait` raises MemoryError if the thread has ended before. Such a thread may not have run any
    code of Python's; it drops only what it was to call.
    """

    def __init__(self, thread: Any) -> None:
        super().__init__()
        self._thread, body = thread, Body(thread._bootstrap)
        thread._bootstrap, self._body = body, weakref.ref(body)

    def wait(self, timeout: float | None = None) -> bool:
        vars(self._thread).pop("_bootstrap", None)
        self._thread = None
        while not super().wait(TICK):
            body = self._body()
            if (body is None or body.has_ended) and not self.is_set():
                raise MemoryError
        return True


class Body:
    """What a new thread calls, and nobody else refers to once the thread has started."""

    def __init__(self, run: Any) -> None:
        self._run, self.has_ended = run, False

    def __call__(self) -> None:
        try:
            self._run()
        finally:
            self.has_ended = True
