"""Concurrent trials: threads of the driver, each of which runs one trial after another."""

import queue
import time
import uuid
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark import InheritableThread

from sparkdl.spark.jobs.job_tags import add_tag, cancel_tag

POLL = 0.2  # seconds, so that Ctrl-C works
GRACE = 15.0  # seconds for the threads of cancelled jobs


def run_side_by_side(sc, run, first, execute, parallelism):
    """Runs trials in threads until there are none left; raises an error of any of them.

    Parameters
    ----------
    sc : SparkContext
    run : StudyRun
    first : (number, Candidate)
        Of the first trial.
    execute : function (number, Candidate)
    parallelism : int
        Concurrent trials.
    """
    tag, endings = f"sparkdl-{uuid.uuid4().hex}", queue.SimpleQueue()
    arguments = sc, tag, run, execute, endings
    starts = [first, *[None] * (parallelism - 1)]
    threads = [
        InheritableThread(target=work, args=(*arguments, one), daemon=True) for one in starts
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            if (error := next_ending(endings)) is not None:
                raise error
    except BaseException:
        stop(sc, tag, run, threads)
        raise


def work(sc, tag, run, execute, endings, given):
    """Runs one trial after another in a thread; puts None or its error into `endings`."""
    try:
        add_tag(sc, tag)
        while (trial := given or run.next()) is not None:
            given = None
            execute(*trial)
        endings.put(None)
    except BaseException as error:
        endings.put(error)


def next_ending(endings):
    """Returns why the next thread has ended; polls, so that the main thread reacts to Ctrl-C."""
    while True:
        with suppress(queue.Empty):
            return endings.get(timeout=POLL)


def stop(sc, tag, run, threads):
    """Stops everything that runs, waiting some seconds at most."""
    run.close()
    deadline = time.monotonic() + GRACE
    with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
        for thread in threads:
            while thread.is_alive() and time.monotonic() < deadline:
                cancel_tag(sc, tag)  # again, as a job may have begun only now
                thread.join(POLL)
