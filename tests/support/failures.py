"""Cleans up after a failed test: prints its name at once, cancels its jobs, and drops answers of
the JVM that were meant for it.
"""

import sys
from contextlib import suppress
from threading import Thread

import pytest
from py4j.clientserver import ClientServerConnection

LIMIT = 10.0  # seconds


class Announcement:
    """Prints failures as they happen, so that a run killed from outside has named them.

    Parameters
    ----------
    terminal : TerminalReporter
    """

    def __init__(self, terminal):
        self._terminal = terminal

    def pytest_collectreport(self, report):
        if report.failed:
            self._announce(report, "collection")

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._announce(report, report.when)

    def _announce(self, report, when):
        line = f"\nFAILED {report.nodeid} ({when}): {message(report)}"
        self._terminal.write_line(line, red=True)


def message(report):
    """Returns the first line of a failure's message."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return text.strip().partition("\n")[0]


def cancel_jobs():
    """Cancels the jobs of this process's SparkContext, which would occupy later tests' slots."""
    pyspark = sys.modules.get("pyspark")
    context = pyspark and pyspark.SparkContext._active_spark_context
    if context is not None:
        # This thread's connection to the JVM may be one on which the test still waits.
        canceling = Thread(target=cancel_jobs_of, args=[context], daemon=True)
        canceling.start()
        canceling.join(LIMIT)


def cancel_jobs_of(context):
    with suppress(Exception):  # Spark may be what is broken
        context.cancelAllJobs()


def break_lines_with_calls(connection=ClientServerConnection):
    """Makes a JVM call that a time limit interrupts close its connection too: otherwise the JVM's
    late answer would be read as the answer to this thread's next call.
    """
    send = connection.send_command

    def send_command(self, command):
        try:
            return send(self, command)
        except pytest.fail.Exception:  # which a signal's handler has raised
            self.close()
            raise

    connection.send_command = send_command
