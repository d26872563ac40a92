"""The order of calls through shared memory, and their failure when one fails."""

import threading

from sparkdl.errors import PeerError
from sparkdl.exchange.levels.job_thread import JobThread, StepJob


class CallOrder:
    """Takes calls in their order, which is the same on all ranks.

    A call is a generator with at most one `yield`. What stands before it and what stands after it
    run in two threads, so that one call may be in its first half while the one before it is in its
    second. A call that somebody waits for is made in that thread, once those before it have ended,
    as handing it to another costs time.

    Parameters
    ----------
    progress : ProgressEngine
        Of the group. A failure here makes it fail, and the other way round.
    memory : SharedMemory or None
        None for a rank that is alone on its machine.
    """

    def __init__(self, progress, memory):
        self._progress, self._memory = progress, memory
        self._second = JobThread("sparkdl-memory-2", self._end)
        self._first = JobThread("sparkdl-memory-1", self._pass_on)
        self._under_way, self._news = 0, threading.Condition()
        self._closed = False
        progress.companions.append(self)

    def run(self, steps):
        """Makes a call and returns its result."""
        if self._under_way:
            with self._news:
                self._news.wait_for(lambda: not self._under_way)
        return run_steps(self._until_failure(steps))

    def start(self, steps):
        """Begins a call that runs beside the caller's next work; returns a StepJob."""
        job = StepJob(self._until_failure(steps))
        with self._news:
            if not self._closed:
                self._under_way += 1
                self._first.put(job)
                return job
        job.advance()  # to the error that the group is closed
        return job

    def fail(self, error):
        """Fails the group, and lets those know who wait in shared memory."""
        if self._memory is not None:
            self._memory.fail(error)

    @property
    def awaited_rank(self):
        """The rank that the oldest call waits for in shared memory, None if there is none."""
        return None if self._memory is None else self._memory.awaited_rank

    def await_elsewhere(self, rank):
        """Lets those who wait in shared memory know whom this process awaits over a socket."""
        if self._memory is not None:
            self._memory.await_elsewhere(rank)

    def close(self):
        """Ends; calls under way fail."""
        with self._news:
            self._closed = True
        if self._memory is not None:
            self._memory.leave()
        self._first.close()
        self._second.close()
        if self._memory is not None:
            self._memory.close()

    def _until_failure(self, steps):
        """Yields the steps of a call, none of which is taken after a failure.

        Theirs is the group's.
        """
        self._progress.check()
        try:
            return (yield from steps)
        except BaseException as error:
            error.is_explained = isinstance(error, PeerError)  # it says already what was awaited
            self._progress.fail(error)
            raise

    def _pass_on(self, job, more):
        if more:
            self._second.put(job)
        else:
            self._end(job, more)

    def _end(self, job, more):
        with self._news:
            self._under_way -= 1
            self._news.notify_all()


def run_steps(steps):
    """Takes all steps of a generator; returns its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
