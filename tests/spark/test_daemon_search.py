"""Whether the executors' Python has sparkdl's daemon is found out, soon."""

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


def found():
    with DaemonSearch() as search:
        return search.finds_ours()


def test_this_python_has_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(daemon_search.FILE).parents[2]))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert found()


OTHERS = ["exit 1", "true", "echo /elsewhere/sparkdl/spark/python_daemon.py", "printf '\\377\\0'"]


@pytest.mark.parametrize("text", OTHERS)
def test_another_python_has_not(text, program, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", program(text))
    assert not found()


def test_a_missing_python_has_not(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "no-such-python")
    assert not found()


def test_a_python_that_hangs_is_ended(program, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", program("exec sleep 600"))
    monkeypatch.setattr(daemon_search, "LIMIT", 0.1)
    with DaemonSearch() as search:
        assert not search.finds_ours()
    assert search._process.returncode is not None


def test_the_folder_of_a_script_does_not_count(program, tmp_path, monkeypatch):
    """Executors run in folders of their own."""
    (tmp_path / "sparkdl").symlink_to(Path(daemon_search.FILE).parents[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", program(f'exec {sys.executable} -S "$@"'))
    assert not found()


def test_a_search_that_nobody_awaits_is_ended(program, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", program("exec sleep 600"))
    with pytest.raises(KeyError), DaemonSearch() as search:
        raise KeyError  # as Spark does not start
    assert search._process.returncode is not None
