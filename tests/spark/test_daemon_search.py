"""Whether the executors' Python has sparkdl's daemon is found out, soon."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl.spark import daemon_search
from sparkdl.spark.daemon_search import DaemonSearch


@pytest.fixture
def program(tmp_path):
    """Returns a function that writes a shell script to use in place of Python."""

    def write(text):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


def test_this_python_has_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(daemon_search.FILE).parents[2]))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert DaemonSearch().finds_ours()


OTHERS = ["exit 1", "true", "echo /elsewhere/sparkdl/spark/python_daemon.py", "printf '\\377\\0'"]


@pytest.mark.parametrize("text", OTHERS)
def test_another_python_has_not(text, program, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", program(text))
    assert not DaemonSearch().finds_ours()


def test_a_missing_python_has_not(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "no-such-python")
    assert not DaemonSearch().finds_ours()


def test_a_python_that_hangs_is_ended(program, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", program("exec sleep 600"))
    monkeypatch.setattr(daemon_search, "LIMIT", 0.1)
    search = DaemonSearch()
    assert not search.finds_ours()
    assert search._process.returncode is not None


def test_the_folder_of_a_script_does_not_count(tmp_path):
    """Executors run in folders of their own."""
    (tmp_path / "sparkdl").symlink_to(Path(daemon_search.FILE).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", "-S", "-c", daemon_search.PROGRAM],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    assert done.returncode and "No module named" in done.stderr
