"""Failures are printed as they happen, and a failed test's jobs are cancelled."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.support.failures import cancel_jobs
from tests.support.waiting import until

CONFTEST = """
import pytest

from tests.support.failures import Announcement

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(Announcement(config.pluginmanager.get_plugin("terminalreporter")))
"""
TESTS = """
import pytest

@pytest.fixture
def broken():
    raise ValueError("no such cluster\\nat all")

def test_passes(): pass
def test_fails(): assert 1 == 2, "a reason"
def test_cannot_start(broken): pass
"""


@pytest.mark.slow
def test_names_and_reasons_are_printed_before_the_summary(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", tmp_path]
    root = Path(__file__).resolve().parents[2]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True).stdout
    summary = min(output.index("= ERRORS ="), output.index("= FAILURES ="))
    names = [line for line in output[:summary].splitlines() if line.startswith("FAILED")]
    assert [line.partition("::")[2] for line in names] == [
        "test_fails (call): AssertionError: a reason",
        "test_cannot_start (setup): ValueError: no such cluster",
    ]


def test_jobs_of_a_test_that_failed_end(sc):
    def busy():
        return sc.statusTracker().getActiveJobsIds()

    def sleep():
        with pytest.raises(Exception, match="cancel"):
            sc.parallelize([1], 1).foreach(lambda _: time.sleep(100))
        ended.append(True)

    ended = []
    waiting = Thread(target=sleep)
    waiting.start()
    assert until(busy, 60)
    cancel_jobs()
    waiting.join(60)
    assert ended and not busy()


def test_a_call_of_the_jvm_that_a_time_limit_breaks_off_has_no_answer_for_the_next(sc):
    def on_time(number, frame):
        pytest.fail("over time")

    main = threading.main_thread().ident
    before = signal.signal(signal.SIGUSR1, on_time)
    try:
        threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGUSR1]).start()
        with pytest.raises(pytest.fail.Exception) as kept:  # as pytest keeps what failed
            sc._jvm.java.lang.Thread.sleep(2000)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert kept.match("over time")
    for number in (3, 4):
        assert sc._jvm.java.lang.Math.max(1, number) == number
