"""Thread that advances jobs one after the other."""

import queue
import threading

from sparkdl.thread_start import start_thread


class StepJob:
    """A call that runs in the background, step by step.

    Parameters
    ----------
    steps : generator
        Its return value is the result.
    """

    def __init__(self, steps):
        self._steps, self._event = steps, threading.Event()
        self._result = self._error = None

    def advance(self, error=None):
        """Runs the next step, or raises `error` in its place; returns whether there are more."""
        try:
            next(self._steps) if error is None else self._steps.throw(error)
        except StopIteration as end:
            self._result = end.value
        except BaseException as raised:
            self._error = raised
        else:
            return True
        self._event.set()
        return False

    @property
    def is_done(self):
        """True if `wait` would return, or raise, at once."""
        return self._event.is_set()

    def wait(self):
        """Waits for the result; raises the error of a step."""
        self._event.wait()  # always ends: every step has a time limit
        if self._error is not None:
            raise self._error
        return self._result


class JobThread:
    """Runs one step of each job, in the order in which they were added.

    Parameters
    ----------
    name : str
        Of the thread, which starts with the first job.
    after : callable
        after(job, more) is called after the step; `more` says whether the job has steps left.
    """

    def __init__(self, name, after):
        self._name, self._after = name, after
        self._jobs, self._thread = queue.SimpleQueue(), None

    def put(self, job):
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            start_thread(thread)
            self._thread = thread
        self._jobs.put(job)

    def close(self):
        """Ends the thread after all queued jobs."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()

    def _run(self):
        while (job := self._jobs.get()) is not None:
            self._after(job, job.advance())
