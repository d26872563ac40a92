"""Order and failure of calls through shared memory."""

import threading

from sparkdl.errors import PeerError
from sparkdl.exchange.levels.job_thread import JobThread, StepJob


class CallOrder:
    """Runs calls in their order, which is the same on all ranks.

    A call is a generator with at most one `yield`. The halves before and after it run in two
    threads, so one call may be in its first half while the previous one is in its second. A
    blocking call runs in the caller's thread once earlier calls have ended, which saves a handover.

    Parameters
    ----------
    progress : ProgressEngine
        Of the group. Failures propagate in both directions.
    memory : SharedMemory or None
        None if this rank is alone on its machine.
    """

    def __init__(self, progress, memory):
        self._progress, self._memory = progress, memory
        self._second = JobThread("sparkdl-memory-2", self._end)
        self._first = JobThread("sparkdl-memory-1", self._pass_on)
        self._under_way, self._news = 0, threading.Condition()
        self._closed = False
        progress.companions.append(self)

    def run(self, steps):
        """Runs a call and returns its result."""
        if self._under_way:
            with self._news:
                self._news.wait_for(lambda: not self._under_way)
        return run_steps(self._until_failure(steps))

    def start(self, steps):
        """Starts a call in the background; returns a StepJob."""
        job = StepJob(self._until_failure(steps))
        with self._news:
            if not self._closed:
                self._first.put(job)  # first, as it fails where no thread can start
                self._under_way += 1
                return job
        job.advance()  # ends it with the error that the group is closed
        return job

    def fail(self, error):
        """Fails calls in shared memory with this error, including those that wait."""
        if self._memory is not None:
            self._memory.fail(error)

    @property
    def awaited_rank(self):
        """The rank that the oldest call in shared memory waits for, or None."""
        return None if self._memory is None else self._memory.awaited_rank

    def await_elsewhere(self, rank):
        """Tells waiting members of this machine which rank this process awaits over a socket."""
        if self._memory is not None:
            self._memory.await_elsewhere(rank)

    def close(self):
        """Ends both threads; calls in progress fail."""
        with self._news:
            self._closed = True
        if self._memory is not None:
            self._memory.leave()
        self._first.close()
        self._second.close()
        if self._memory is not None:
            self._memory.close()

    def _until_failure(self, steps):
        """Runs the steps of a call, none of which is taken after a failure of the group.

        An error in a step fails the whole group.
        """
        self._progress.check()
        try:
            return (yield from steps)
        except BaseException as error:
            error.is_explained = isinstance(error, PeerError)  # it already says what was awaited
            self._progress.fail(error)
            raise

    def _pass_on(self, job, more):
        if more:
            try:
                return self._second.put(job)
            except RuntimeError as error:  # no thread can start
                more = job.advance(error)
        self._end(job, more)

    def _end(self, job, more):
        with self._news:
            self._under_way -= 1
            self._news.notify_all()


def run_steps(steps):
    """Runs a generator to its end; returns its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
