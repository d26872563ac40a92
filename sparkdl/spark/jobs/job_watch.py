"""A thread that checks a job while it runs, and cancels it if something is wrong."""

import time
import uuid
from contextlib import contextmanager, suppress
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.spark.jobs.job_tags import add_tag, forget_tag, job_ids, own_tags, remove_tag
from sparkdl.spark.jobs.slots import elements

STOPPED = Py4JError, PySparkException, AttributeError  # errors of a Spark that was stopped
POLL = 1.0  # seconds between two checks
LOOKS = 3  # failures in a row after which a question is dropped: Spark has stopped, or cannot tell
WATCHED = "sparkdl-watched-"  # begins the tag of a watch, by which it knows its jobs


@contextmanager
def watch_job(sc, *questions):
    """Checks the job run inside; a check that returns an error cancels the job. Gives a JobWatch.

    Parameters
    ----------
    questions : objects with `begin` and `look`
        After `begin` seconds `look(jobs)` is called repeatedly, with Spark's data about the running
        jobs of this thread. It returns the error that cancels them, or None.

    Raises
    ------
    SparkdlError
        Returned by a check.
    """
    with tag_jobs(sc) as tag:
        watch = JobWatch(sc, tag, questions)
        try:
            yield watch
        except Exception as error:
            if watch.error is not None:
                raise watch.error from error
            raise
        finally:
            watch.close()


@contextmanager
def tag_jobs(sc):
    """Gives the jobs run inside a tag of their own, in place of that of an enclosing watch.

    Other threads may run jobs with the same description, which are none of this watch's business.
    """
    tag = WATCHED + uuid.uuid4().hex
    enclosing = {each for each in own_tags(sc) if each.startswith(WATCHED)}
    try:
        replace_tags(sc, enclosing, {tag})
        yield tag
    finally:
        with suppress(*STOPPED):
            replace_tags(sc, {tag}, enclosing)
            forget_tag(tag)


def replace_tags(sc, olds, news):
    for old in olds:
        remove_tag(sc, old)
    for new in news:
        add_tag(sc, new)


class JobWatch:
    """The watching thread; `error` is why it has cancelled the job, or None.

    A barrier stage for which the cluster has too few slots cannot be cancelled before Spark lists
    its job, which may be minutes later.
    """

    def __init__(self, sc, tag, questions):
        self._sc, self._tag, self._questions = sc, tag, list(questions)
        self._failures = {id(question): 0 for question in questions}
        self._start, self.error, self._closed = time.monotonic(), None, Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_queued(self):
        """Whether the job waits for another of ours; see SlotWait."""
        questions = self._questions if self._thread.is_alive() else ()
        return any(getattr(one, "is_queued", False) for one in questions)

    def close(self):
        self._closed.set()

    def _run(self):
        if self._closed.wait(min(one.begin for one in self._questions)):  # most jobs end by then
            return
        while self._questions and not self._closed.wait(POLL):
            seconds = time.monotonic() - self._start
            self._look([one for one in self._questions if one.begin <= seconds])

    def _look(self, due):
        """Asks the questions that are due, all about the same data."""
        try:
            jobs = jobs_tagged(self._sc, self._tag) if due else []
        except STOPPED:
            self._count_failures(due)
            return
        for question in due:
            self._ask(question, jobs)

    def _ask(self, question, jobs):
        try:
            self.error = self.error or question.look(jobs)
            if self.error is not None:
                for job in jobs:
                    self._sc._jsc.sc().cancelJob(job.jobId())
            self._failures[id(question)] = 0
        except STOPPED:
            self._count_failures([question])

    def _count_failures(self, questions):
        """Drops the questions that have failed LOOKS times in a row."""
        for question in questions:
            self._failures[id(question)] += 1
            if self._failures[id(question)] == LOOKS:
                self._questions.remove(question)


def jobs_tagged(sc, tag):
    """Returns Spark's data about the running jobs with a tag."""
    jobs = map(sc._jsc.sc().statusStore().job, job_ids(sc, tag))
    return [job for job in jobs if job.status().name() == "RUNNING"]


def running_jobs(sc):
    """Returns Spark's data about running jobs."""
    statuses = sc._jvm.java.util.Collections.singletonList(
        sc._jvm.org.apache.spark.JobExecutionStatus.RUNNING
    )
    return elements(sc._jsc.sc().statusStore().jobsList(statuses))
