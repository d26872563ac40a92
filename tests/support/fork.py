"""Runs groups of tests in a fork of the process that collected them."""

import os

import pytest
from _pytest.runner import runtestprotocol  # as plugins for processes and reruns do

from tests.support.jax_programs import held
from tests.support.lanes import FIRST, lane, path_of

MUCH = 300 << 20  # bytes by which a fork may grow
BEHIND = 3  # niceness of other groups than lanes: these take longest, and are not to wait


def run_groups(session, connection, owners):
    """Runs groups of tests until the owner closes the connection, or this process has grown.

    Parameters
    ----------
    session : pytest.Session
    connection : Connection
        Receives groups, as lists of indices into `session.items`. Sends each test's list of
        reports, and after each group whether this process takes another one.
    owners : list[Connection]
        The owner's connection ends, which this fork inherited: open, they would hide its closing.
    """
    for other in owners:
        other.close()
    renew_capture(session.config)
    session.config.pluginmanager.register(Sender(connection))
    before = held()
    try:
        goes_on, is_behind = True, False
        while goes_on:
            items = [session.items[place] for place in connection.recv()]
            in_lane = lane(path_of(items[0])) in FIRST
            if not in_lane and not is_behind:
                os.nice(BEHIND)
                is_behind = True
            run(items, connection)
            goes_on = held() - before < MUCH and not in_lane
            connection.send(goes_on)
    except (EOFError, OSError):
        pass  # closed
    finally:
        session._setupstate.teardown_exact(None)  # of a test that was interrupted


def run(items, connection):
    """Runs a group; if the owner closes the connection, stops before the next test."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        ends = following is None or connection.poll()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None if ends else following)
        if ends:
            return


class Sender:
    """A plugin that sends the reports of a test, once its last fixture has ended."""

    def __init__(self, connection):
        self._connection = connection

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        config = item.config
        to_data = config.hook.pytest_report_to_serializable
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        self._connection.send([to_data(config=config, report=report) for report in reports])
        return True


def renew_capture(config):
    """Captures this process's output in its own files, because the owner's are shared."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
