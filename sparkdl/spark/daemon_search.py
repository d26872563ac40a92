"""Finds out whether the Python of this machine's executors has sparkdl's daemon."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

DAEMON = "spark.python.daemon.module"
MODULE = "sparkdl.spark.python_daemon"
PROGRAM = (
    "from importlib.util import find_spec; from os.path import realpath; "
    f"print(realpath(find_spec({MODULE!r}).origin))"
)
FILE = Path(__file__).with_name("python_daemon.py")
LIMIT = 30.0  # seconds


class DaemonSearch:
    """A process of PYSPARK_PYTHON that looks for the daemon, where Spark starts meanwhile.

    A script's own folder does not count: executors run in others.
    """

    def __init__(self):
        self._process = None
        command = [os.environ.get("PYSPARK_PYTHON", sys.executable), "-P", "-c", PROGRAM]
        with suppress(OSError):  # no such program: Spark's first task says so
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def finds_ours(self):
        """Returns whether executors have the daemon of this sparkdl."""
        if self._process is None:
            return False
        try:
            found, _ = self._process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return False
        return found.strip() == os.fsencode(os.path.realpath(FILE))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._process is not None:
            self._process.kill()  # it may have ended long ago
            with self._process:
                pass
