"""Carries an error of a task to the driver, to which Spark hands only text.

So the error carries what it is made of in a note, which Python writes below the error's own line.
"""

from contextlib import contextmanager

from sparkdl.error_messages import error_from_text, error_to_text

NOTE = "sparkdl error: "


@contextmanager
def note_errors():
    """Attaches a note to an error raised here, in a task; `read_noted_error` makes it again."""
    try:
        yield
    except Exception as error:
        error.add_note(NOTE + error_to_text(error))
        raise


def read_noted_error(text, whose):
    """Returns the error that a task has noted in Spark's text, or None.

    Of what is no SparkdlError it says `whose` it was.
    """
    notes = [line.removeprefix(NOTE) for line in text.splitlines() if line.startswith(NOTE)]
    try:
        return error_from_text(notes[-1], whose) if notes else None
    except (ValueError, RecursionError):  # a text that was cut
        return None
