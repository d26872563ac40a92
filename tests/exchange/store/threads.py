"""Workers that are threads of this process, for tests that need no more."""

import threading
from concurrent.futures import Future, wait

LIMIT = 60.0  # seconds


def start(function, *args):
    """A Future of function(*args), which runs in a thread."""
    future = Future()

    def run():
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def together(size, function, *args):
    """[function(rank, *args) for each rank], at the same time.

    The first error is raised when all have ended, so none finds gone what the others still use.
    """
    futures = [start(function, rank, *args) for rank in range(size)]
    wait(futures, LIMIT)
    return [future.result(0) for future in futures]
