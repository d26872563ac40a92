"""Threads of a process that may have no more of them."""

import os
import threading
import time

import pytest

from sparkdl.errors import WorkerError
from sparkdl.thread_start import NoThread, start_thread


def test_a_thread_starts_under_its_name():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(threading.current_thread()), name="one")
    start_thread(thread)
    thread.join()
    assert seen == [thread] and not thread.is_alive()


def test_a_process_without_threads_names_itself_and_the_limits(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    for name in ("_start_new_thread", "_start_joinable_thread"):  # of Python 3.12 and older; newer
        monkeypatch.setattr(threading, name, refuse, raising=False)
    with pytest.raises(WorkerError, match=f"process {os.getpid()} on .*: can't start .*ulimit -u"):
        start_thread(threading.Thread(target=print))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_ends_before_it_begins_is_not_awaited(monkeypatch):
    """As in a process without memory: Python's own `start` waits forever."""

    def lack_memory(thread):
        raise MemoryError

    monkeypatch.setattr(threading.Thread, "_bootstrap_inner", lack_memory)
    start = time.monotonic()
    with pytest.raises(NoThread, match="a new thread has no memory; .*spark.executor.pyspark.mem"):
        start_thread(threading.Thread(target=print, daemon=True))
    assert time.monotonic() - start < 10
