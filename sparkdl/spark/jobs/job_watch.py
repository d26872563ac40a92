"""A thread that checks a job while it runs, and cancels it if something is wrong."""

import time
from contextlib import contextmanager
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.spark.jobs.slots import elements, value_of

STOPPED = Py4JError, PySparkException, AttributeError  # errors of a Spark that was stopped
POLL = 1.0  # seconds between two checks


@contextmanager
def watch_job(sc, description, *questions):
    """Checks the job run inside; a check that returns an error cancels the job.

    Parameters
    ----------
    description : str
        Identifies the job in Spark.
    questions : objects with `begin` and `look`
        After `begin` seconds `look(jobs)` is called repeatedly, with Spark's data about the running
        jobs with this description. It returns the error that cancels them, or None.

    Raises
    ------
    SparkdlError
        Returned by a check.
    """
    watch = JobWatch(sc, description, questions)
    try:
        yield
    except Exception as error:
        if watch.error is not None:
            raise watch.error from error
        raise
    finally:
        watch.close()


class JobWatch:
    """The watching thread; `error` is why it has cancelled the job, or None."""

    def __init__(self, sc, description, questions):
        self._sc, self._description, self._questions = sc, description, list(questions)
        self._start, self.error, self._closed = time.monotonic(), None, Event()
        Thread(target=self._run, daemon=True).start()

    def close(self):
        self._closed.set()

    def _run(self):
        if self._closed.wait(min(one.begin for one in self._questions)):  # most jobs end by then
            return
        while self._questions and self.error is None and not self._closed.wait(POLL):
            seconds = time.monotonic() - self._start
            self._look([one for one in self._questions if one.begin <= seconds])

    def _look(self, due):
        """Asks the questions that are due, all about the same data; drops those that fail."""
        try:
            jobs = jobs_described(self._sc, self._description) if due else []
        except STOPPED:
            self._questions = [one for one in self._questions if one not in due]
            return
        for question in due:
            self._ask(question, jobs)

    def _ask(self, question, jobs):
        try:
            error = question.look(jobs)
            if error is not None:
                self.error = self.error or error
                for job in jobs:
                    self._sc._jsc.sc().cancelJob(job.jobId())
        except STOPPED:
            self._questions.remove(question)


def jobs_described(sc, description):
    """Returns Spark's data about the running jobs with a description."""
    return [job for job in running_jobs(sc) if value_of(job.description()) == description]


def running_jobs(sc):
    """Returns Spark's data about running jobs."""
    statuses = sc._jvm.java.util.Collections.singletonList(
        sc._jvm.org.apache.spark.JobExecutionStatus.RUNNING
    )
    return elements(sc._jsc.sc().statusStore().jobsList(statuses))
