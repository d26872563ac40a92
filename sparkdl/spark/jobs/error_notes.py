"""Transport of a task's error to the driver, which receives only text from Spark.

The error carries its contents in a note, which Python prints below the error's own line.
"""

import os
from contextlib import contextmanager

from sparkdl.error_messages import error_from_text, error_to_text

NOTE = "sparkdl error: "
SIMPLIFIED_TRACEBACK = "SPARK_SIMPLIFIED_TRACEBACK"  # lets PySpark drop the causes of errors


@contextmanager
def note_errors():
    """Attaches a note to errors raised inside, in a task; `read_noted_error` restores them.

    PySpark's own text of such an error tells its causes, too.
    """
    try:
        yield
    except Exception as error:
        os.environ.pop(SIMPLIFIED_TRACEBACK, None)  # the process ends with the error
        error.add_note(NOTE + error_to_text(error))
        raise


def read_noted_error(text, whose):
    """Returns the error that a task has noted in Spark's text, or None.

    Errors that are no SparkdlError name `whose` they were.
    """
    notes = [line.removeprefix(NOTE) for line in text.splitlines() if line.startswith(NOTE)]
    try:
        return error_from_text(notes[-1], whose) if notes else None
    except (ValueError, RecursionError):  # a truncated text
        return None
