"""The class archive: where it is, who makes it, and that a JVM without it prints nothing."""

import signal
import subprocess

import pytest

from tests.support import class_archive
from tests.support.jvm import FRUGAL

needs_java = pytest.mark.skipif(class_archive.java() is None, reason="no Java")


def test_its_place_is_that_of_a_java_and_its_jars(monkeypatch, tmp_path):
    here = class_archive.place()
    assert class_archive.place() == here
    monkeypatch.setattr(class_archive, "JARS", f"{tmp_path}/*")
    assert class_archive.place() != here


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Returns an empty folder, in which making the archive never ends."""
    monkeypatch.setattr(class_archive, "FOLDER", tmp_path)
    monkeypatch.setattr(class_archive, "MAKING", ["sleep", "1000"])
    return tmp_path


@needs_java
def test_one_of_several_sessions_makes_it_and_after_its_end_another_one(folder, monkeypatch):
    first = class_archive.begin()
    (folder / f"{class_archive.place().stem}.{first.pid}.part").touch()
    try:
        assert class_archive.begin() is None, "another makes it"
        assert list(folder.glob("*.part"))
    finally:
        monkeypatch.setattr(class_archive, "LIMIT", 0.01)
        class_archive.end(first)
    assert first.returncode == -signal.SIGKILL, "its time is over"
    second = class_archive.begin()
    class_archive.end(second)
    assert second.pid != first.pid and not list(folder.glob("*.part"))


@needs_java
def test_what_is_there_stays_and_what_other_jars_had_goes_when_it_is_made(folder, monkeypatch):
    (folder / "other.jsa").touch()
    (folder / "left.1.part").touch()
    class_archive.place().touch()
    assert class_archive.begin() is None and (folder / "other.jsa").exists()
    assert not (folder / "left.1.part").exists()
    class_archive.place().unlink()
    monkeypatch.setattr(class_archive, "LIMIT", 0.01)
    class_archive.end(class_archive.begin())
    assert not (folder / "other.jsa").exists()


@pytest.mark.slow
@needs_java
@pytest.mark.parametrize("content", [None, b"no archive"])
def test_a_jvm_starts_without_it_and_says_nothing(content, monkeypatch, tmp_path):
    place = tmp_path / "classes.jsa"
    if content is not None:
        place.write_bytes(content)
    options = FRUGAL.replace(str(class_archive.place()), str(place)).split()
    program = "org.apache.hadoop.util.StringUtils"  # which has no main
    command = [class_archive.java(), *options, "-cp", class_archive.JARS, program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == ""
    assert done.stderr.startswith(f"Error: Main method not found in class {program}")
