"""The server of a process: kept while it may be, then replaced; forks have their own."""

import os
import sys
from multiprocessing import spawn
from pathlib import Path

import pytest

from sparkdl.training.workers.fork_server.own_server import SERVER
from tests.support.waiting import gone, has_ended, until
from tests.training.workers.fork_server.asked import Asked, ask, is_own, pid_of_server


@pytest.mark.slow
@pytest.mark.parametrize("name, same", [("ANY", True), ("OPENBLAS_NUM_THREADS", False)])
def test_variables_that_libraries_have_read_need_a_new_one(name, same, monkeypatch):
    monkeypatch.delenv(name, raising=False)
    with Asked() as old:
        server = old.server
        monkeypatch.setenv(name, "1")
        assert (pid_of_server() == server.pid) is same
        assert old("1 + 1") == 2, "processes of an old server go on"
    if not same:
        until(lambda: gone(server))


@pytest.mark.slow
def test_another_python_needs_a_new_one(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec env WHICH=other {sys.executable} "$@"\n')
    python.chmod(0o700)
    assert ask("os.environ.get('WHICH')") is None
    monkeypatch.setattr(spawn, "_python_exe", str(python))
    with Asked() as asked:
        assert b"WHICH=other" in Path(f"/proc/{asked.server.pid}/environ").read_bytes().split(b"\0")


@pytest.mark.slow
def test_modules_that_are_needed_now_need_a_new_one(monkeypatch):
    monkeypatch.setattr(SERVER, "_needed", [])
    has_loaded = "'colorsys' in sys.modules"
    with Asked() as old:
        assert not old(has_loaded)
        SERVER.need(["colorsys"])
        with Asked() as new:
            server = new.server
            assert new(has_loaded) and server != old.server
        SERVER.need(["colorsys"])
        assert pid_of_server() == server.pid
        assert old("1 + 1") == 2, "processes of an old server go on"


@pytest.mark.slow
def test_one_that_was_killed_is_replaced():
    with Asked() as asked:
        server = asked.server
    server.kill()
    until(lambda: gone(server))
    assert pid_of_server() != server.pid and SERVER.is_usable


@pytest.mark.slow
def test_a_fork_has_one_of_its_own():
    pid = pid_of_server()
    ends, begins = os.pipe()
    fork = os.fork()
    if not fork:
        try:
            own = pid_of_server()
            os.write(begins, f"{own} {is_own(own)}".encode())
        finally:
            os._exit(0)
    own, is_its = os.read(ends, 40).decode().split()
    os.waitpid(fork, 0)
    assert int(own) != pid and is_its == "True"
    until(lambda: has_ended(int(own)))
    assert pid_of_server() == pid
    os.close(ends)
    os.close(begins)
