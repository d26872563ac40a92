"""Workers as threads of this process, for tests that need no processes."""

import threading
from concurrent.futures import Future, wait

LIMIT = 250.0  # seconds


def start(function, *args):
    """Runs function(*args) in a thread; returns its Future."""
    future = Future()

    def run():
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def together(size, function, *args):
    """Returns [function(rank, *args) for each rank], run concurrently.

    Waits for all before it raises the first error, so that shared objects outlive their users.
    """
    futures = [start(function, rank, *args) for rank in range(size)]
    wait(futures, LIMIT)
    return [future.result(0) for future in futures]
