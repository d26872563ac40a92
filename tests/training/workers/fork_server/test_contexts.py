"""Where a server cannot fork, workers are spawned."""

import multiprocessing
import os
import re
import subprocess
import sys

import pytest

from sparkdl.training.workers.fork_server import contexts, own_server, server_process
from sparkdl.training.workers.fork_server.contexts import process_context
from tests.training.workers.fork_server.asked import Asked, ask


@pytest.fixture
def fresh(monkeypatch):
    """Makes this process begin a server of its own."""
    from sparkdl.training.workers.fork_server import popen

    found = own_server.OwnServer()
    for module in (contexts, popen):
        monkeypatch.setattr(module, "SERVER", found)
    return found


def test_other_systems_spawn(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert process_context([]) is multiprocessing.get_context("spawn")


@pytest.mark.slow
def test_a_server_that_ends_as_it_begins_is_named_once(fresh, monkeypatch, caplog):
    monkeypatch.setattr(server_process, "PROGRAM", "raise SystemExit(4)#{path}{file}{modules}")
    for _ in range(2):
        with Asked() as asked:
            assert asked.server.pid == os.getpid()
            assert asked("1 + 1") == 2
    [text] = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(
        r"the process that forks workers \(process \d+\) has ended with exit code 4; from now on, "
        "worker processes are spawned",
        text,
    )


@pytest.mark.slow
def test_a_server_that_cannot_fork_keeps_what_it_has(fresh, caplog):
    with Asked() as first:
        server, limits = first.server, 0x7  # RLIMIT_NOFILE
        before = server.rlimit(limits)
        server.rlimit(limits, (4, before[1]))
        with Asked() as second:
            assert second.server.pid == os.getpid()
        assert first("1 + 1") == 2
    assert "from now on, worker processes are spawned" in caplog.text


@pytest.mark.slow
def test_a_server_in_which_a_tool_has_started_a_thread_does_not_fork(
    fresh, monkeypatch, tmp_path, capfd, caplog
):
    (tmp_path / "watching_tool.py").write_text(
        "from threading import Event, Thread\n"
        "Thread(target=Event().wait, name='of a tool', daemon=True).start()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    fresh.load(["watching_tool"])
    with Asked() as asked:
        assert asked.server.pid == os.getpid()
    assert "has ended with exit code 1; from now on, worker processes are spawned" in caplog.text
    assert "cannot fork workers: <Thread(of a tool" in capfd.readouterr().err


PLACES = """
import os
from tests.training.workers.fork_server.asked import ask
if __name__ == "__main__":
    assert "sparkdl-worker" in ask("pathlib.Path('/proc/self/comm').read_text()")
"""


@pytest.mark.slow
def test_no_folder_is_needed(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PLACES)
    places = {"TMPDIR": "/nowhere", "HOME": "/nowhere", "XDG_CACHE_HOME": "/nowhere"}
    environment = os.environ | places | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, path], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_question_has_an_answer():
    assert ask("1 + 1") == 2
