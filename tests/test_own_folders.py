"""What this user alone can change is told from the rest; a user without a home has caches too."""

import os
from pathlib import Path

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.own_folders import budget, cache_folder, is_own_file, make_own_folder


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_a_new_folder_is_of_mode_0700(tmp_path, umask):
    before = os.umask(umask)
    try:
        folder = make_own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_can_change_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(UnsupportedError, match=f"mode {mode:o}; chmod 700 it"):
        make_own_folder(tmp_path)


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UnsupportedError, match="must be a folder that this user"):
        make_own_folder(tmp_path)


def test_files_are_regular_and_of_this_user_alone(tmp_path):
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.touch(0o600)
    link.symlink_to(file)
    os.mkfifo(pipe, 0o600)
    assert [is_own_file(one) for one in (file, link, pipe, tmp_path)] == [True] + [False] * 3
    file.chmod(0o660)
    assert not is_own_file(file) and not is_own_file(tmp_path / "none")


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
