"""Folders and files that others can change are refused; users without a home have a cache."""

import os
import re
from pathlib import Path

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.own_folders import (
    budget,
    cache_folder,
    make_own_folder,
    open_own,
    own_files,
    replaced_file,
)
from tests.support.owners import give_to


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_new_folders_are_of_mode_0700(tmp_path, umask):
    before = os.umask(umask)
    try:
        made = make_own_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    modes = [one.stat().st_mode & 0o777 for one in (made, made.parent, made.parent.parent)]
    assert modes == [0o700] * 3, "who can write to a folder can exchange those in it"


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_can_change_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(UnsupportedError, match=f"mode {mode:o}; chmod 700 it"):
        make_own_folder(tmp_path)


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UnsupportedError, match="must be a folder that this user"):
        make_own_folder(tmp_path)


@pytest.mark.parametrize("owner", [os.getuid(), 0], ids=["this user", "root"])
def test_a_folder_may_be_a_link_to_another_disk(tmp_path, monkeypatch, owner):
    link, disk = tmp_path / "caches", tmp_path / "disk"
    disk.mkdir(0o700)
    link.symlink_to(disk)
    give_to(owner, link, monkeypatch)
    assert make_own_folder(link / "kernels").resolve() == disk / "kernels"
    assert make_own_folder(link) == link
    disk.chmod(0o770)
    with pytest.raises(UnsupportedError, match="mode 770; chmod 700 it"):
        make_own_folder(link)


def test_a_link_of_another_user_is_refused(tmp_path, monkeypatch):
    link, mine = tmp_path / "kernels", tmp_path / "documents"
    mine.mkdir(0o700)
    link.symlink_to(mine)
    give_to(os.getuid() + 1, link, monkeypatch)
    with pytest.raises(UnsupportedError, match=f"got uid {os.getuid() + 1} and a link"):
        make_own_folder(link)


def test_files_are_regular_and_of_this_user_alone(tmp_path, monkeypatch):
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.touch(0o600)
    file.write_bytes(b"mine")
    link.symlink_to(file)
    os.mkfifo(pipe, 0o600)
    with open_own(file) as found:
        assert found.read() == b"mine"
    for other in (link, tmp_path, tmp_path / "none"):
        with pytest.raises(OSError):
            open_own(other)
    with pytest.raises(UnsupportedError, match="pipe must be a regular file that this user"):
        open_own(pipe)
    file.chmod(0o660)
    with pytest.raises(UnsupportedError):
        open_own(file)
    file.chmod(0o600)
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    with pytest.raises(UnsupportedError):
        open_own(file)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_file_is_replaced_at_once(tmp_path, umask):
    path, before = tmp_path / "file", os.umask(umask)
    path.write_bytes(b"old")
    try:
        with replaced_file(path) as file:
            file.write(b"new")
            file.flush()
            assert path.read_bytes() == b"old"
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new" and [*tmp_path.iterdir()] == [path]
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replaced_file(path) as file:
        file.write(b"new")
        1 / 0  # noqa: B018, the writer fails
    assert path.read_bytes() == b"old" and [*tmp_path.iterdir()] == [path]


def test_a_link_in_the_place_of_an_unfinished_file_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    precious, planted = tmp_path / "precious", tmp_path / f".sparkdl-{'0' * 16}"
    precious.write_bytes(b"precious")
    planted.symlink_to(precious)
    with pytest.raises(FileExistsError), replaced_file(tmp_path / "file") as file:
        file.write(b"new")
    assert precious.read_bytes() == b"precious"


def test_files_of_other_names_kinds_and_users_are_not_listed(tmp_path, monkeypatch):
    for name in ("a1", "a2", "b1", "a", "a11"):
        (tmp_path / name).touch()
    (tmp_path / "a3").symlink_to(tmp_path / "b1")
    (tmp_path / "a4").mkdir()
    give_to(os.getuid() + 1, tmp_path / "a2", monkeypatch)
    assert [path.name for path, _ in own_files(tmp_path, re.compile("a[0-9]"))] == ["a1"]


def test_a_user_without_a_home_has_a_folder_of_caches(monkeypatch, tmp_path):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder("kernels") == tmp_path / f"sparkdl-{os.getuid()}-kernels"


def test_a_relative_folder_of_caches_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/caches")
    assert cache_folder("kernels") == tmp_path / ".cache" / "sparkdl" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache_folder("kernels") == tmp_path / "caches" / "sparkdl" / "kernels"


@pytest.mark.parametrize("text", ["abc", "-1", "1e9", "²"])
def test_a_budget_is_a_number_of_bytes(text, monkeypatch):
    monkeypatch.setenv("SOME_BYTES", text)
    with pytest.raises(ConfigError, match=f"SOME_BYTES must be a number of bytes, got '{text}'"):
        budget("SOME_BYTES", 1)


def test_a_budget_that_is_not_set_is_the_usual_one(monkeypatch):
    monkeypatch.delenv("SOME_BYTES", raising=False)
    assert budget("SOME_BYTES", 7) == 7
    monkeypatch.setenv("SOME_BYTES", "12")
    assert budget("SOME_BYTES", 7) == 12
