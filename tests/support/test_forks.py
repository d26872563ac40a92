"""Tests in forks: each runs once, in one process per file; a test that kills one is named."""

import multiprocessing
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.jax_programs import held

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import os
import pytest
from tests.support import fork, forks, lanes

lanes.lane = fork.lane = lambda path: path
fork.MUCH = int(os.environ.get("MUCH", fork.MUCH))
forks.LIMIT = float(os.environ.get("LIMIT", forks.LIMIT))
lanes.JVMS = int(os.environ.get("JVMS", lanes.JVMS))
lanes.has_jvms = lambda item: item.name == "test_of_spark"

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(forks.Forks(2))

@pytest.fixture(scope="session", autouse=True)
def service():
    yield
    with open("ended", "a") as file:
        file.write(f"{os.getpid()}\\n")

@pytest.fixture(autouse=True)
def process(request):
    with open("ran", "a") as file:
        file.write(f"{request.node.nodeid} {os.getpid()}\\n")
"""
OUTCOMES = """
import os, pytest, signal, time

@pytest.fixture
def broken():
    yield
    raise ValueError("at its end")

def test_passes(): print("nobody reads this")
def test_fails(): print("a hint"); assert 1 == 2
def test_ends_badly(broken): pass
@pytest.mark.skip(reason="not today")
def test_is_skipped(): pass
@pytest.mark.xfail
def test_is_expected(): assert 0
"""
KILLED = """
import os, signal
def test_before(): pass
def test_kills(): os.kill(os.getpid(), signal.SIGKILL)
def test_after(): pass
"""
LEAVES = """
import os, time
from pathlib import Path
def test_leaves():
    if not os.fork():
        until = time.monotonic() + 60
        while "test_3" not in Path("ran").read_text() and time.monotonic() < until: time.sleep(0.1)
        time.sleep(0.5)
    os._exit(1)
"""
LATER = """
import time
from pathlib import Path
def test_0():
    while "test_leaves" not in Path("ran").read_text(): time.sleep(0.1)
    time.sleep(1)  # it has ended
def test_1(): time.sleep(0.5)
def test_2(): time.sleep(0.5)
def test_3(): pass
"""
HANGS = """
import time
def test_before(): pass
def test_hangs(): time.sleep(60)
"""
FAILS = """
from pathlib import Path
def test_fails():
    while "test_hangs" not in Path("ran").read_text(): pass
    assert 0
"""
JAX = """
import jax.numpy
ONE = jax.numpy.ones(1)
def test_one(): pass
"""
BESIDE = """
from pathlib import Path
def test_of_spark():
    while "test_2.py" not in Path("ran").read_text(): pass
    assert "test_1.py" not in Path("ran").read_text()
"""
QUICK = "\n".join(f"def test_{number}(): pass" for number in range(4))


@pytest.fixture
def run(tmp_path):
    """Runs test files, given as texts, and returns the end of pytest's output."""

    def run(*texts, options=(), code=0, **environment):
        (tmp_path / "conftest.py").write_text(CONFTEST)
        for number, text in enumerate(texts):
            (tmp_path / f"test_{number}.py").write_text(text)
        command = sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *options
        found = {"PATH": "", "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)} | environment
        done = subprocess.run(command, cwd=tmp_path, env=found, capture_output=True, timeout=250)
        text = done.stdout.decode() + done.stderr.decode()
        assert done.returncode == code, text
        return text

    return run


def processes(tmp_path, name="ran"):
    """Returns (test, process) for each line of a file."""
    return [line.rsplit(" ", 1) for line in (tmp_path / name).read_text().splitlines()]


@pytest.mark.slow
def test_outcomes_are_those_of_one_process(run):
    text = run(OUTCOMES, QUICK, code=1)
    assert "1 failed, 6 passed, 1 skipped, 1 xfailed, 1 error" in text
    assert "a hint" in text and "nobody reads this" not in text
    assert "at its end" in text


@pytest.mark.slow
def test_each_test_runs_once_in_the_process_of_its_file(run, tmp_path):
    run(*[QUICK] * 3)
    ran = processes(tmp_path)
    assert sorted(test for test, _ in ran) == [
        f"test_{i}.py::test_{j}" for i in range(3) for j in range(4)
    ]
    assert len({(test.partition("::")[0], process) for test, process in ran}) == 3
    assert len({process for _, process in ran}) == 2


@pytest.mark.slow
def test_a_process_that_has_grown_takes_no_other_file(run, tmp_path):
    run(*[QUICK] * 3, MUCH="-1")
    assert len({process for _, process in processes(tmp_path)}) == 3


@pytest.mark.slow
def test_no_more_jvms_than_may_be_run_at_a_time(run, tmp_path):
    run(BESIDE, "def test_of_spark(): pass", QUICK, JVMS="1")
    assert len(processes(tmp_path)) == 6


@pytest.mark.slow
def test_a_process_that_is_killed_is_named_and_the_rest_of_its_file_runs(run):
    text = run(KILLED, QUICK, code=1)
    assert "1 failed, 6 passed" in text
    assert re.search(r"test_0.py::test_kills.*exit code -9", text, re.DOTALL)


@pytest.mark.slow
def test_a_process_that_is_outlived_by_a_child_is_named_while_others_run(run):
    text = run(LEAVES, LATER, options=["-v"], code=1)
    assert text.index("test_leaves FAILED") < text.index("test_3 PASSED")


@pytest.mark.slow
def test_a_test_that_hangs_when_the_session_ends_is_named(run):
    text = run(HANGS, FAILS, options=["-x"], code=1, LIMIT="1")
    assert "test_hangs - its process did not end within 1 s and was killed" in text


@pytest.mark.slow
def test_too_many_failures_end_the_session_and_its_services(run, tmp_path):
    slow = "import time\n" + "\n".join(f"def test_{i}(): time.sleep(0.5)" for i in range(60))
    text = run(KILLED.replace("os.kill", "print"), slow, OUTCOMES, options=["-x"], code=1)
    assert "stopping after 1 failures" in text
    assert len(processes(tmp_path)) < 60
    ended = set((tmp_path / "ended").read_text().split())
    assert ended == {process for _, process in processes(tmp_path)}


@pytest.mark.slow
def test_computing_with_jax_before_the_forks_is_refused(run):
    assert "must not compute with JAX" in run(JAX, code=4)


@pytest.mark.slow
def test_memory_is_that_of_the_fork_not_of_its_owner():
    def grow(connection):
        before = held()
        block = np.ones(8 << 20)
        connection.send(held() - before)
        del block

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=grow, args=[theirs])
    process.start()
    process.join(60)
    assert ours.poll() and ours.recv() > 60 << 20


def test_collecting_runs_nothing(run, tmp_path):
    assert "4 tests collected" in run(QUICK, options=["--collect-only"])
    assert not (tmp_path / "ran").exists()
