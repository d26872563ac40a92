"""Calls about many files, several at a time where each waits for a network; results keep order."""

import threading
import time
from contextlib import contextmanager

from sparkdl.data.file_systems import LOCAL, scheme_of, takes_threads
from sparkdl.thread_start import start_thread

THREADS, NAME = 16, "sparkdl-files"
LOOK = 1.0  # seconds between two looks whether threads still live
PATIENCE = 5.0  # seconds for which the end waits for calls that have begun


@contextmanager
def each_in_order(call, values, paths=None, ahead=4 * THREADS):
    """Provides an iterator over call(value) of each value, in the order of the values.

    Threads make the calls where the file systems of the paths take calls from several: at most
    THREADS at a time, and `ahead` before their results are taken. Elsewhere, and in a call by such
    a thread, a result is computed when it is taken. The first error in the order of the values is
    raised in its place, whichever came first. No call begins after the block has ended, by an error
    or an interrupt too.

    Parameters
    ----------
    call : function
        Called from several threads at a time.
    values : sequence
    paths : iterable, optional
        Paths that the calls go to; None: the values.
    ahead : int
        Bounds the memory of results that wait.
    """
    is_one_of_them = threading.current_thread().name == NAME  # their number would be squared
    waits = len(values) > 1 and are_waited_for(values if paths is None else paths)
    if is_one_of_them or not waits:
        yield map(call, values)
        return
    calls = Calls(call, values, ahead)
    try:
        calls.start(min(THREADS, len(values)))
        yield iter(calls)
    finally:
        calls.stop()


def are_waited_for(paths):
    """Returns whether several threads gain time on these paths, and all file systems take them."""
    of_schemes = {scheme_of(path): path for path in paths}
    far = [path for scheme, path in of_schemes.items() if scheme not in LOCAL]
    return bool(far) and all(map(takes_threads, far))


class Calls:
    """Calls by threads, each with the next value, and their results in the order of the values."""

    def __init__(self, call, values, ahead):
        self._call, self._values, self._ahead = call, values, ahead
        self._begun = self._taken = 0
        self._end = len(values)  # after the first error, calls of later values are of no use
        self._outcomes, self._threads = {}, []
        self._changed = threading.Condition()

    def start(self, count):
        """Starts `count` threads; raises NoThread if this process may not have them."""
        for _ in range(count):
            thread = threading.Thread(target=self._run, name=NAME, daemon=True)
            start_thread(thread)
            self._threads.append(thread)

    def stop(self):
        """Begins no more calls; waits a few seconds for those that have begun."""
        with self._changed:
            self._end = 0
            self._changed.notify_all()
        until = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def __iter__(self):
        while self._taken < len(self._values):
            result, error = self._take()
            if error is not None:
                raise error
            yield result

    def _take(self):
        """Returns the next (result, error)."""
        with self._changed:
            while not self._changed.wait_for(lambda: self._taken in self._outcomes, LOOK):
                if not any(thread.is_alive() for thread in self._threads):
                    raise MemoryError("threads that read files had no memory even to say so")
            outcome = self._outcomes.pop(self._taken)
            self._taken += 1
            self._changed.notify_all()
            return outcome

    def _run(self):
        while (number := self._begin()) is not None:
            try:
                outcome = self._call(self._values[number]), None
            except BaseException as error:
                outcome = None, error
            self._finish(number, outcome)

    def _begin(self):
        """Returns the number of the next value once there is room for its result; None: no more."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._begun >= self._end or self._begun < self._taken + self._ahead
            )
            if self._begun >= self._end:
                return None
            self._begun += 1
            return self._begun - 1

    def _finish(self, number, outcome):
        with self._changed:
            self._outcomes[number] = outcome
            if outcome[1] is not None:
                self._end = min(self._end, number + 1)
            self._changed.notify_all()
