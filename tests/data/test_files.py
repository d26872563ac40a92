"""Files are opened, listed and replaced atomically; errors say what went wrong."""

import gc
import io
import os
import shutil
import socket
from pathlib import Path
from zipfile import ZipFile

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from sparkdl.data import Csv, files
from sparkdl.errors import ConfigError, DataError
from sparkdl.training.report.run_folder import read_run
from sparkdl.training.report.run_log import RunLog


def write(path, text="x"):
    with files.open(path, "w") as file:
        file.write(text)


def read(path):
    with files.open(path, "r") as file:
        return file.read()


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "FILE:", "File://", "file://localhost"])
def test_open_makes_folders_and_reads_back(tmp_path, prefix):
    path = f"{prefix}{tmp_path}/a/b/c.txt"
    write(path, "hello")
    assert read(path) == "hello"
    assert (tmp_path / "a/b/c.txt").read_text() == "hello"
    assert files.exists(path)
    assert files.list(f"{prefix}{tmp_path}/a") == ["b"]


def test_a_path_that_must_be_free(tmp_path):
    files.check_free(f"{tmp_path}/a")
    with pytest.raises(DataError, match=f"^{tmp_path}: something is there already; remove it or"):
        files.check_free(tmp_path)
    with pytest.raises(ConfigError, match="is there already"):
        files.check_free(tmp_path, ConfigError)


@pytest.mark.parametrize("path", ["/a\0b", "file:///a\0b", "memory://a\0b"])
@pytest.mark.parametrize("what", [files.open, files.read, files.exists, files.size, files.list])
def test_a_null_character_is_refused(path, what):
    with pytest.raises(DataError, match=r"a\\x00b': a path must have no null character"):
        what(path)


def test_relative_paths_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("c.txt")
    with files.atomic_directory("model") as beside:
        write(f"{beside}/d.txt")
    assert files.list(".") == ["c.txt", "model"]
    assert files.local_path("c.txt") == str(tmp_path / "c.txt")


@pytest.mark.parametrize("form", ["{}/run::2", "file://{}/run::2", "file:{}/a::b::c", "run::2"])
def test_colons_are_part_of_a_local_path(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    path, name = form.format(tmp_path), form.rpartition("/")[2]
    write(tmp_path / "run", "another")
    write(tmp_path / "a", "another")
    write(f"{path}/x", "right")
    assert read(f"{path}/x") == (tmp_path / name / "x").read_text() == "right"
    assert files.list(path) == ["x"]
    assert files.absolute(path) == f"{tmp_path}/{name}"
    with files.atomic_directory(path) as beside:
        write(f"{beside}/y")
    assert files.list(path) == ["y"]


def test_chains_of_file_systems_are_read(tmp_path):
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b/c", "packed")
    write(tmp_path / "d", "plain")
    assert files.list(f"zip://b::file://{tmp_path}/a.zip") == ["c"]
    assert files.size(f"zip://b/c::{tmp_path}/a.zip") == len("packed")
    with files.open(f"zip://b/c::{tmp_path}/a.zip") as file:
        gc.collect()
        assert file.read() == b"packed"
        assert file.seek(3) == 3 and file.read() == b"ked"
    assert read(f"simplecache::{tmp_path}/d") == "plain"
    assert read(f"simplecache::file://{tmp_path}/d") == "plain"


def test_a_size_that_is_not_told_is_an_error(monkeypatch):
    """As by web servers that compress what they send."""
    path = "memory://sizes/a.csv"
    write(path, "1,2")
    monkeypatch.setattr(MemoryFileSystem, "size", lambda system, path: None)
    for read_size in files.size, lambda path: Csv(path).splits():
        with pytest.raises(DataError, match=f"{path}: must have a known size, got none; copy it"):
            read_size(path)


def test_list_is_sorted_and_of_names(tmp_path):
    for name in "bca":
        write(tmp_path / name)
    assert files.list(tmp_path) == ["a", "b", "c"]
    assert files.list(str(tmp_path) + "/") == ["a", "b", "c"]


def test_tree_leaves_out_marks_and_checksums(tmp_path):
    """As in Spark, _k=1 is a folder of the partition column _k."""
    for name in ["b/2", "a", "b/1", "_k=1/4", "_SUCCESS", ".a.crc", ".k=1/5", "_temporary/3"]:
        write(tmp_path / name)
    write(tmp_path / "b/3._COPYING_")  # `hdfs dfs -put` is still writing it
    assert files.tree(tmp_path) == [f"{tmp_path}/{name}" for name in ["_k=1/4", "a", "b/1", "b/2"]]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_links_to_folders_above_are_not_followed(tmp_path, prefix):
    for name in ["a/1", "b/2"]:
        write(tmp_path / name)
    for link, target in {"a/self": ".", "a/up": "..", "b/c": "../a"}.items():
        (tmp_path / link).symlink_to(target)
    found = [f"{prefix}{tmp_path}/{name}" for name in ["a/1", "b/2", "b/c/1"]]
    assert files.tree(f"{prefix}{tmp_path}") == found


def test_remove_takes_folders_and_nothing(tmp_path):
    write(tmp_path / "a/b")
    files.remove(tmp_path / "a")
    files.remove(tmp_path / "a")
    assert files.list(tmp_path) == []


@pytest.mark.parametrize("prefix", ["", "file://", "memory://files-below"])
def test_a_local_path_below_a_file_is_refused(tmp_path, prefix):
    write(tmp_path / "a")
    files.check_parents(f"{prefix}{tmp_path}/a")
    files.check_parents(f"{prefix}{tmp_path}/b/c/d")
    if prefix.startswith("memory"):
        files.check_parents(f"{prefix}{tmp_path}/a/b/c")
        return
    with pytest.raises(DataError, match=r"a/b/c: cannot be written, .*/a is a file"):
        files.check_parents(f"{prefix}{tmp_path}/a/b/c")


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_local_path_in_a_read_only_folder_is_refused(tmp_path, monkeypatch, prefix):
    """Models were lost: it was found when they were saved, after the fit."""
    write(tmp_path / "mine/a")
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != str(tmp_path))
    files.check_parents(f"{prefix}{tmp_path}/mine/b")
    with pytest.raises(DataError, match="new/b: cannot be written, .* is read-only for this user"):
        files.check_parents(f"{prefix}{tmp_path}/new/b")


def test_the_system_says_whether_a_folder_is_read_only(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (tmp_path / "shut").mkdir(mode=0o500)
    with pytest.raises(DataError, match="shut is read-only for this user"):
        files.check_parents(tmp_path / "shut/b")


@pytest.mark.parametrize("prefix", ["", "file://", "memory://files-write"])
def test_a_file_appears_whole_and_is_replaced(tmp_path, prefix):
    for content in (b"old", b"new"):
        files.write(f"{prefix}{tmp_path}/a/b", content)
        assert read(f"{prefix}{tmp_path}/a/b").encode() == content
    assert files.list(f"{prefix}{tmp_path}/a") == ["b"]


@pytest.mark.parametrize("prefix", ["", "file://", "memory://files-folder"])
def test_a_folder_is_not_replaced_by_a_file(tmp_path, prefix):
    """It was deleted with all that it held."""
    path = f"{prefix}{tmp_path}/folder"
    files.write(f"{path}/inner/kept", b"x")
    for refuse in (files.check_file, lambda path: files.write(path, b"new")):
        with pytest.raises(DataError, match="folder: must be the path of a file, got a folder"):
            refuse(path)
    assert files.tree(path) == [f"{path}/inner/kept"]


SPECIAL = {"pipe": "a pipe", "socket": "a socket", "null": "a device"}


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_no_file_is_not_replaced(tmp_path, monkeypatch, name):
    """A file or folder took the place of a pipe; of a link to /dev/null, too."""
    monkeypatch.chdir(tmp_path)  # a path of a socket must be short
    os.mkfifo("pipe")
    os.symlink("/dev/null", "null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        before = os.lstat(name)
        for refuse in (files.check_file, lambda path: files.write(path, b"new")):
            with pytest.raises(DataError, match=f"{name}: must be the path of a file, got"):
                refuse(name)
        with pytest.raises(DataError, match=f"of a file or folder, got {SPECIAL[name]}"):
            with files.atomic_directory(name):
                pass
    assert os.lstat(name) == before
    assert sorted(os.listdir()) == sorted(SPECIAL)


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    files.write(tmp_path / "a", b"old")

    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalFileSystem, "open", lambda *args, **options: Full())
    with pytest.raises(DataError, match="a: cannot be written: No space left"):
        files.write(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_directory_appears_whole(tmp_path):
    with files.atomic_directory(tmp_path / "model") as beside:
        write(f"{beside}/a")
        assert not files.exists(tmp_path / "model")
    assert files.list(tmp_path) == ["model"]
    assert files.list(tmp_path / "model") == ["a"]


@pytest.mark.parametrize("replaced", [False, True])
def test_the_disk_has_what_a_name_leads_to(tmp_path, monkeypatch, replaced):
    """As in torch.distributed.checkpoint, files are synced, then folders, then the new name."""
    target, synced, removed = tmp_path / "model", [], []
    if replaced:
        (target / "below").mkdir(parents=True)

    def sync(place):
        found = next(p for p in [tmp_path, *tmp_path.rglob("*")] if is_at(p, place))
        synced.append((found.name, (target / "below/a").exists()))

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(shutil, "rmtree", lambda path: removed.append(len(synced)))
    with files.atomic_directory(target) as beside:
        files.write(f"{beside}/below/a", b"1")
        synced.clear()
    *before, (last, is_there) = synced
    assert {name for name, _ in before} == {"a", "below", Path(beside).name}
    assert not any(there for _, there in before)
    assert (last, is_there) == (tmp_path.name, True)
    assert removed == [len(synced)] * replaced


def is_at(path, place):
    found, opened = path.stat(), os.fstat(place)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda place: seen.append((tmp_path / "a").exists()))
    files.write(tmp_path / "a", b"1")
    assert seen == [False, True]


def test_a_directory_is_replaced_whole(tmp_path):
    write(tmp_path / "model/old")
    with files.atomic_directory(tmp_path / "model") as beside:
        write(f"{beside}/new")
        assert files.list(tmp_path / "model") == ["old"]
    assert files.list(tmp_path) == ["model"]
    assert files.list(tmp_path / "model") == ["new"]


def test_an_error_leaves_what_was_there(tmp_path):
    write(tmp_path / "model/old")
    with pytest.raises(KeyboardInterrupt), files.atomic_directory(tmp_path / "model") as beside:
        write(f"{beside}/new")
        raise KeyboardInterrupt
    assert files.list(tmp_path) == ["model"]
    assert files.list(tmp_path / "model") == ["old"]


def test_a_block_that_cannot_write_names_the_directory(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}/model: cannot be written: No space left"):
        with files.atomic_directory(tmp_path / "model"):
            raise OSError(28, "No space left on device")
    assert files.list(tmp_path) == []


def test_a_failed_rename_brings_the_old_one_back(tmp_path):
    write(tmp_path / "model/old")
    with pytest.raises(DataError), files.atomic_directory(tmp_path / "model") as beside:
        files.remove(beside)
    assert files.list(tmp_path) == ["model"]
    assert files.list(tmp_path / "model") == ["old"]


MISSING = [
    (files.open, "there is no such file or folder"),
    (files.list, "there is no such folder"),
    (files.tree, "there is no such folder"),
]


@pytest.mark.parametrize("function, message", MISSING)
def test_what_is_missing_is_named(tmp_path, function, message):
    with pytest.raises(DataError, match=f"^{tmp_path}/none: {message}"):
        function(tmp_path / "none")


def test_a_file_that_is_a_folder_is_named(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}: cannot be opened: Is a directory"):
        files.open(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    write(tmp_path / "a")
    os.chmod(tmp_path / "a", 0)
    with pytest.raises(DataError, match="cannot be opened: Permission denied"):
        files.open(tmp_path / "a")


def test_an_unknown_file_system_is_named():
    with pytest.raises(DataError, match=r"^nofs://a/b: its file system cannot be reached"):
        files.exists("nofs://a/b")


@pytest.mark.parametrize(
    "path", ["file://tmp/a", "FILE://tmp", "file://localhost.org/a", "local://a", "file://"]
)
def test_a_file_uri_of_another_host_is_refused(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=f"^{path}: must be (file|local):///..., for what"):
        write(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["file:a", "FILE:a/b", "file:./a", "file:", "local:a"])
def test_a_file_uri_of_a_relative_path_is_refused(tmp_path, monkeypatch, path):
    """Hadoop refuses it, too; other URI parsers take it for /a."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=f"^{path}: must be (file|local):///absolute/path, for a"):
        write(path)
    assert list(tmp_path.iterdir()) == []
    write("./file:a", "named so")
    assert (tmp_path / "file:a").read_text() == "named so"


@pytest.mark.parametrize("path", ["memory://a", "hdfs://nn/a"])
def test_local_path_refuses_other_file_systems(path):
    with pytest.raises(DataError, match=f"^{path}: must be a local path"):
        files.local_path(path)
    with pytest.raises(DataError, match=f"^{path}: must be a local path, for lines are appended"):
        RunLog(path)
    with pytest.raises(DataError, match=f"^{path}: must be a local path, for fits log to local"):
        read_run(path)


def test_a_scheme_ignores_case():
    files.write("Memory://cased/a", b"1")
    assert read("memory://cased/a") == "1"
    assert not files.is_local("HDFS://nn/a") and files.is_local("FILE:///a")
    files.remove("MEMORY://cased")


def test_another_file_system_works_the_same():
    with files.atomic_directory("memory://models/m") as beside:
        write(f"{beside}/a", "1")
    assert files.list("memory://models") == ["m"]
    assert read("memory://models/m/a") == "1"
    files.remove("memory://models")
