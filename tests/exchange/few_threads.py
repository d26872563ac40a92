"""A process that may start no more threads, for tests."""

import threading
from contextlib import contextmanager


@contextmanager
def no_thread(monkeypatch, name):
    """Threads whose name begins with `name` cannot start."""
    start = threading.Thread.start

    def start_others(thread):
        if thread.name.startswith(name):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_others)
        yield
