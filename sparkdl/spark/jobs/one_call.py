"""A call of ours that runs jobs, such as a fit: its jobs are told from those of other threads."""

import uuid
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError

from sparkdl.spark.jobs.interrupts import clean_interrupts
from sparkdl.spark.jobs.job_tags import add_tag, forget_tag, own_tags, remove_tag

CALL = "sparkdl-call-"  # begins the tag of a call's jobs


@contextmanager
def one_call(sc):
    """Tags the jobs of a call, which ends cleanly at a Ctrl-C; see `clean_interrupts`."""
    tag = CALL + uuid.uuid4().hex
    with clean_interrupts(sc):
        try:
            add_tag(sc, tag)
            yield
        finally:
            with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
                remove_tag(sc, tag)
                forget_tag(tag)


def call_tags(sc):
    """Returns the tags of the calls in which this thread runs jobs."""
    return {tag for tag in own_tags(sc) if tag.startswith(CALL)}
