"""The archive of classes: where it is, who makes it, and that a JVM without it says nothing."""

import subprocess

import pytest

from tests.support import class_archive
from tests.support.jvm import FRUGAL


def test_its_place_is_that_of_a_java_and_its_jars(monkeypatch, tmp_path):
    here = class_archive.place()
    assert class_archive.place() == here
    monkeypatch.setattr(class_archive, "JARS", f"{tmp_path}/*")
    assert class_archive.place() != here


def test_one_of_several_processes_makes_it_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(class_archive, "FOLDER", tmp_path)
    (tmp_path / "lock").mkdir()
    assert class_archive.begin(tmp_path / "lock") is None, "another has begun"
    class_archive.place().touch()
    assert class_archive.begin(tmp_path / "other") is None, "it is there"
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(class_archive.java() is None, reason="no Java")
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
