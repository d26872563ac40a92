"""Runs tests in several processes: forks of the one that collected them, which share its memory.

Each takes a group of tests that stay together (tests/support/lanes.py) and reports each test's
result. A fork whose memory has grown ends after its group, and a new one takes the next.
"""

import gc
import multiprocessing
import sys
import warnings
from multiprocessing.connection import wait

import pytest

from tests.support.fork import run_groups
from tests.support.lanes import groups, may_join

LIMIT = 120.0  # seconds that a fork may take to end what its tests have started
LOOK = 5.0  # seconds until forks are looked at: one may have ended and left who has its connection


class Forks:
    """A pytest plugin that runs a session's tests in `count` processes at a time."""

    def __init__(self, count):
        self._count = count
        self._waiting, self._running, self._ending = [], [], []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """Collects without looking for garbage: almost all that it makes stays."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.enable()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.config.option.collectonly or session.testsfailed:
            return None  # pytest's own loop knows what to do
        check_jax()
        session.config._tmp_path_factory.getbasetemp()  # one for all
        session.config.pluginmanager.get_plugin("terminalreporter").showfspath = False
        self._waiting = groups(session.items)
        try:
            while self._waiting or self._running:
                self._start(session)
                self._receive(session)
                stop_if_asked(session)
        finally:
            for fork in self._running:
                fork.stop()
            for fork in self._running + self._ending:
                fork.wait_for_end()
        return True

    def _start(self, session):
        while len(self._running) < self._count and (group := self._next(session)):
            others = [fork.connection for fork in self._running]
            self._running.append(Fork(session, others))
            self._running[-1].take(group)

    def _next(self, session):
        """Removes and returns the first waiting group that may run now, or None."""
        running = [session.items[fork.group[0]] for fork in self._running if fork.group]
        may = (may_join(session.items[group[0]], running) for group in self._waiting)
        place = next((place for place, one in enumerate(may) if one), None)
        return None if place is None else self._waiting.pop(place)

    def _receive(self, session):
        ready = wait([fork.connection for fork in self._running], LOOK)
        for fork in [one for one in self._running if one.connection in ready or one.has_ended()]:
            fork.receive()
            if fork.is_free and (group := self._next(session)):
                fork.take(group)
            elif fork.is_free or fork.is_done:
                self._running.remove(fork)
                self._ending.append(fork)
                fork.stop()
                if fork.group:  # in which it ended
                    self._waiting.insert(0, fork.group)


class Fork:
    """The owner's side of a process that runs groups of tests.

    Attributes
    ----------
    connection : Connection
    group : list[int]
        Indices of the tests left to run, starting with the current one.
    is_free, is_done : bool
        Whether it waits for a group; whether it takes no more groups.
    """

    def __init__(self, session, others):
        self._session, self._last, self.group = session, None, []
        self.is_free, self.is_done = True, False
        self.connection, theirs = forking().Pipe()
        inherited = session, theirs, [*others, self.connection]
        self._process = forking().Process(target=run_groups, args=inherited)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # JAX, which has not been used
            self._process.start()
        theirs.close()

    def take(self, group):
        """Hands the process its next group."""
        self.group, self.is_free = list(group), False
        self.connection.send(group)

    def receive(self):
        """Receives a message: a test's reports, or whether the process takes another group."""
        try:
            message = self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            message = None
        if isinstance(message, bool):
            self.is_free, self.is_done = message, not message
            return
        if message is None:
            self._process.join(LIMIT)
            self.is_done = True
            self._log_failure(f"its process ended with exit code {self._process.exitcode}")
        else:
            log(self._session.config, message)
        if self.group:
            self._last = self.group.pop(0)

    def has_ended(self):
        return self._process.exitcode is not None

    def stop(self):
        """Makes the process end after the current test."""
        self.connection.close()

    def wait_for_end(self):
        self._process.join(LIMIT)
        if not self.has_ended():
            self._process.kill()
            self._log_failure(f"its process did not end within {LIMIT:g} s and was killed")

    def _log_failure(self, reason):
        """Logs a failure of the current test, or of the last one if none runs."""
        item = self._session.items[self.group[0] if self.group else self._last]
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", reason, "call")
        item.config.hook.pytest_runtest_logreport(report=report)


def forking():
    """What makes forks.

    Raises
    ------
    pytest.UsageError
        The system cannot fork.
    """
    try:
        return multiprocessing.get_context("fork")
    except ValueError:
        raise pytest.UsageError(
            f"--processes must be 1 where a process cannot be forked, got more on {sys.platform}"
        ) from None


def check_jax():
    """Raises if collection made JAX start threads, for which a fork would wait forever."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized():
        raise pytest.UsageError(
            "test modules must not compute with JAX while they are imported; "
            "make arrays and layers of Keras in a function or fixture"
        )


def log(config, data):
    """Logs a test's reports, as pytest does for a test it runs itself."""
    from_data = config.hook.pytest_report_from_serializable
    reports = [from_data(config=config, data=part) for part in data]
    test = {"nodeid": reports[0].nodeid, "location": reports[0].location}
    config.hook.pytest_runtest_logstart(**test)
    for report in reports:
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(**test)


def stop_if_asked(session):
    """Ends the session after too many failures, or when a plugin asks for it."""
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
