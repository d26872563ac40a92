"""Workers that are threads of this process, for tests that need no more."""

import threading
from concurrent.futures import Future

LIMIT = 20.0  # seconds


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
    """[function(rank, *args) for each rank], at the same time; the first error is raised."""
    futures = [start(function, rank, *args) for rank in range(size)]
    return [future.result(LIMIT) for future in futures]
