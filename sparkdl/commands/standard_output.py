"""Standard output of a command: missing characters, and an end of its reader or disk.

Imported by every command, so it must import nothing heavy.
"""

import io
import os
import select
import sys


def escape_missing_characters():
    r"""Makes standard output print characters that its encoding lacks as \xe9 or \u2014."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a notebook has another
        sys.stdout.reconfigure(errors="backslashreplace")


def replace_missing_error():
    """Sends what this process writes to a closed standard error to nowhere, not to the output."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends


def has_reader():
    """Returns False if the output is a pipe whose reader has ended, as in `sparkdl ... | head`."""
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # none, in memory or closed
        return True
    known = select.poll()
    known.register(number, 0)
    return not any(event & select.POLLERR for _, event in known.poll(0))


def failure():
    """Returns the OSError of writing another line feed, or None if that succeeds."""
    try:
        print(flush=True)
    except OSError as error:
        return error
    return None


def discard():
    """Sends to nowhere what the output still holds, which Python would try to write at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
