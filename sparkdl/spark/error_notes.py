"""What the driver is told of a task's error: Spark hands it a text alone.

So the error carries what it is made of in a note, which Python writes below the error's own line.
"""

import json
from contextlib import contextmanager

from sparkdl.error_messages import error_from_json, error_to_json

NOTE = "sparkdl error: "


@contextmanager
def note_errors():
    """What is raised in here, in a task, can be made again by `noted_error`."""
    try:
        yield
    except Exception as error:
        error.add_note(NOTE + json.dumps(error_to_json(error)))
        raise


def noted_error(text, whose):
    """Returns the error that a task has noted in Spark's text, or None.

    Of what is no SparkdlError it says `whose` it was.
    """
    notes = [line.removeprefix(NOTE) for line in text.splitlines() if line.startswith(NOTE)]
    try:
        return error_from_json(json.loads(notes[-1]), whose) if notes else None
    except (ValueError, RecursionError):  # a text that was cut
        return None
