"""A worker has what its owner has when it starts, though its server is older."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from tests.training.workers.fork_server.asked import Asked, ask, pid_of_server

CHANGES = {
    "a variable": (lambda at, patch: patch.setenv("ANY", "new"), "os.environ['ANY']", "new"),
    "a variable for C": (
        lambda at, patch: patch.setenv("ANY", "new"),
        "getattr(ctypes.CDLL(None), 'getenv')(b'ANY') != 0",
        True,
    ),
    "no variable": (lambda at, patch: patch.delenv("HOME", False), "os.environ.get('HOME')", None),
    "the folder": (lambda at, patch: patch.chdir(at), "os.getcwd()", str),
    "the path": (lambda at, patch: patch.syspath_prepend(at), "sys.path[0]", str),
    "arguments": (lambda at, patch: patch.setattr(sys, "argv", ["x", "2"]), "sys.argv[1]", "2"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_since_the_server_began_is_new(name, tmp_path, monkeypatch):
    change, question, expected = CHANGES[name]
    before = pid_of_server()
    change(tmp_path, monkeypatch)
    assert ask(question) == (str(tmp_path) if expected is str else expected)
    assert pid_of_server() == before


def test_outputs_are_those_of_the_owner_now(capfd):
    with Asked() as asked:
        asked("os.write(1, b'to one')"), asked("os.write(2, b'to two')")
    assert capfd.readouterr() == ("to one", "to two")


def test_a_module_that_was_edited_is_read_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for number in (1, 22):
        (tmp_path / "edited_by_users.py").write_text(f"NUMBER = {number}")
        assert ask("__import__('edited_by_users').NUMBER") == number


def test_an_archive_that_was_replaced_is_read_again(tmp_path, monkeypatch):
    archive = tmp_path / "job.zip"
    monkeypatch.syspath_prepend(archive)
    for number in (1, 22):
        with ZipFile(archive, "w") as file:
            file.writestr("other.py", "#" * number)
            file.writestr("replaced_by_users.py", f"NUMBER = {number}")
        assert ask("__import__('replaced_by_users').NUMBER") == number


@pytest.mark.slow
def test_each_draws_numbers_of_its_own():
    for question in ("numpy.random.random()", "random.random()", "os.urandom(8)"):
        assert len({ask(question) for _ in range(3)}) == 3


def test_products_of_matrices_are_those_of_the_owner():
    expected = np.float32(np.arange(640000).reshape(800, 800))
    question = "numpy.float32(numpy.arange(640000).reshape(800, 800))"
    found = ask(f"(lambda x: x @ x)({question})")
    np.testing.assert_allclose(found, expected @ expected, rtol=1e-5)


def test_it_ends_as_a_program_does(tmp_path):
    path = tmp_path / "ended"
    ask(f"atexit.register(pathlib.Path({str(path)!r}).touch) and None")
    assert path.exists()


def test_it_has_one_thread_and_no_file_of_others():
    with Asked() as first, Asked() as second:
        assert len(second("os.listdir('/proc/self/task')")) == 1
        own, others = (set(files_of(asked.process.pid)) for asked in (second, first))
        assert not own & others - set(files_of(os.getpid())) - set(files_of(second.server.pid))


def files_of(pid):
    """Yields the pipes and sockets that a process has open."""
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            name = os.readlink(file)
            if name.startswith(("pipe:", "socket:")):
                yield name
