"""Socket folders are private to one user and go with the session, or later if it was killed."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from sparkdl.spark.session import defaults
from sparkdl.spark.socket_folder import (
    new_socket_folder,
    remove_abandoned,
    remove_socket_folder,
    socket_options,
)

HOLD = """
import tempfile
tempfile.tempdir = {base!r}
from sparkdl.spark.socket_folder import new_socket_folder
print(new_socket_folder(), flush=True)
input()
"""


@pytest.fixture(autouse=True)
def base(monkeypatch, tmp_path_factory):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # socket paths must be short
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield folder


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_nobody_else_can_enter_whatever_the_umask(umask):
    before = os.umask(umask)
    try:
        folder = new_socket_folder()
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert socket_options(folder)["spark.python.unix.domain.socket.dir"] == str(folder)
    remove_socket_folder(folder)
    assert not folder.exists()


def test_long_paths_of_temporary_files_are_left(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/" + "x" * 90)
    folder = new_socket_folder()
    assert str(folder).startswith("/tmp/sparkdl-sockets-")
    remove_socket_folder(folder)


def test_a_killed_driver_s_folder_goes_later_and_a_living_one_s_stays(base):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD.format(base=base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        folder = other.stdout.readline().strip()
        mine = new_socket_folder()
        assert os.path.exists(folder)
        other.send_signal(signal.SIGKILL)
    later = new_socket_folder()
    assert not os.path.exists(folder)
    assert mine.exists()
    for one in (mine, later):
        remove_socket_folder(one)


def test_a_link_is_not_followed(tmp_path, base):
    (tmp_path / "lock").touch()
    os.symlink(tmp_path, f"{base}/sparkdl-sockets-x")
    remove_abandoned(type(tmp_path)(base))
    assert (tmp_path / "lock").exists()


@pytest.mark.parametrize("master, submitted", [("yarn", False), ("spark://a:7077", False)])
def test_no_sockets_where_no_folder_can_be_of_one_user(master, submitted):
    assert not [key for key in defaults(master, submitted) if "socket" in key]
    assert socket_options(None) == {}
