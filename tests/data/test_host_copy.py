"""LMDBs on remote file systems: copied once per host, within a budget of bytes."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
import numpy as np
import pytest

from sparkdl.data import LMDB, Batch, files, host_copy, write_lmdb
from sparkdl.data.readers.lmdb_files.databases import first_image
from sparkdl.errors import DataError
from tests.data.lmdbs import X, Y, caffe_db, datum, put
from tests.data.sources import read
from tests.data.systems import TELLS, Coarse, Telling
from tests.support.owners import give_to

URI = "memory://elsewhere/db"


@pytest.fixture(autouse=True)
def copies(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "copies"))
    yield tmp_path / "copies"
    files.remove("memory://elsewhere")


def upload(path, uri=URI):
    with open(f"{path}/data.mdb", "rb") as source, files.open(f"{uri}/data.mdb", "wb") as out:
        out.write(source.read())
    return uri


def held(copies):
    return sorted(one.name for one in copies.glob("*.mdb"))


@pytest.mark.parametrize("uri", [URI, f"{URI}/data.mdb"])
def test_it_is_copied_once(tmp_path, copies, uri, monkeypatch):
    upload(caffe_db(tmp_path / "db"))
    source = LMDB(uri, records_per_split=4)
    splits = source.splits()
    assert not copies.exists()  # the driver reads only a few pages
    assert [split.count for split in splits] == [4, 4, 2]
    np.testing.assert_array_equal(read(source).features, X)
    assert len(held(copies)) == 1
    monkeypatch.setattr(host_copy, "_copy", None)
    np.testing.assert_array_equal(read(source).labels, Y)


@pytest.mark.parametrize("count", [1, 300, 20_000])
def test_keys_are_found_in_trees_of_every_depth(tmp_path, count, copies):
    x = np.zeros((count, 1, 8, 8), np.uint8)
    write_lmdb(str(tmp_path / "db"), [Batch.of(x, np.zeros(count, int))])
    splits = LMDB(upload(tmp_path / "db")).splits()
    assert [(s.first, s.stop, s.count) for s in splits] == [
        (s.first, s.stop, s.count) for s in LMDB(str(tmp_path / "db")).splits()
    ]
    assert not copies.exists()


@pytest.mark.parametrize("count, size", [(0, 1), (1, 3), (2000, 3), (2, 100), (300, 100)])
def test_the_first_image_is_read_where_it_lies(tmp_path, count, size, copies):
    x = np.arange(count * size * size, dtype=np.uint8).reshape(count, 1, size, size)
    put(tmp_path / "db", [(b"%08d" % i, datum(one, 1)) for i, one in enumerate(x)])
    for path in (str(tmp_path / "db"), upload(tmp_path / "db")):
        found = first_image(path)
        assert found is None if count == 0 else np.array_equal(found, x[0])
    assert not copies.exists()


def test_keys_that_are_no_numbers_cost_the_driver_a_copy(tmp_path, copies):
    items = [(b"key %d" % i, datum(x, 1)) for i, x in enumerate(X)]
    source = LMDB(upload(put(tmp_path / "db", items)), records_per_split=3)
    assert [split.count for split in source.splits()] == [3, 3, 3, 1]
    np.testing.assert_array_equal(read(source).features, X)


def test_a_file_uri_needs_no_copy(tmp_path, copies):
    np.testing.assert_array_equal(read(LMDB(f"file://{caffe_db(tmp_path / 'db')}")).features, X)
    assert not copies.exists()


def test_a_changed_one_is_copied_again(tmp_path, copies):
    read(LMDB(upload(caffe_db(tmp_path / "db"))))
    write_lmdb(str(tmp_path / "other"), [Batch.of(X[::-1], Y[::-1])])
    upload(tmp_path / "other")
    np.testing.assert_array_equal(read(LMDB(URI)).features, X[::-1])
    assert len(held(copies)) == 2


@pytest.fixture
def elsewhere(monkeypatch):
    """Returns a function that writes 100 bytes with a given age; sleeping takes no time."""
    monkeypatch.setattr(host_copy.time, "sleep", lambda seconds: None)

    def put(uri, byte, age):
        with files.open(uri, "wb") as file:
            file.write(byte * 100)
        time = datetime.now(UTC) - timedelta(seconds=age)
        fsspec.filesystem("memory").store["/elsewhere/a"].modified = time
        return uri

    return put


def copied(uri):
    return Path(host_copy.host_copy(uri)).read_bytes()[:1]


@pytest.mark.parametrize("case", TELLS)
def test_a_file_of_any_system_that_has_changed_is_copied_again(case, elsewhere, monkeypatch):
    monkeypatch.setattr(Telling, "tells", staticmethod(TELLS[case]))
    fsspec.register_implementation("telling", Telling, clobber=True)
    for byte, age in [(b"A", 100), (b"B", 50), (b"C", 50), (b"D", 0)]:
        made = copied(elsewhere("telling://elsewhere/a", byte, age))
        assert made == byte or (byte == b"C" and case.endswith("time"))  # C is as old as B
    monkeypatch.setattr(host_copy, "_copy", None)
    if case != "nothing":
        assert copied("telling://elsewhere/a") == b"D"


def test_a_young_file_of_whole_seconds_is_copied_when_they_are_over(elsewhere, monkeypatch):
    """Otherwise a change after the copy but within the same second would never be noticed."""
    fsspec.register_implementation("coarse", Coarse, clobber=True)
    uri, later = "coarse://elsewhere/a", iter([b"B", b"C"])

    def pass_by(seconds):
        assert seconds == 2
        elsewhere(uri, next(later), 0)

    monkeypatch.setattr(host_copy.time, "sleep", pass_by)
    assert copied(elsewhere(uri, b"A", 0)) in (b"B", b"C")
    assert copied(elsewhere(uri, b"D", 100)) == b"D", "an old one needs no wait"


def test_a_file_that_changes_while_it_is_copied_is_copied_again(elsewhere, copies, monkeypatch):
    uri, copy = "memory://elsewhere/a", host_copy.shutil.copyfileobj
    changes = iter([b"B", b"C", b"D", b"E", b"F"])

    def change(source, out, size):
        copy(source, out, size)
        if byte := next(changes, None):
            elsewhere(uri, byte, 0)

    monkeypatch.setattr(host_copy.shutil, "copyfileobj", change)
    with pytest.raises(
        DataError, match="^memory://elsewhere/a: must not change while it is copied"
    ):
        copied(elsewhere(uri, b"A", 0))
    assert [one.suffix for one in copies.iterdir()] == [".lock"] * 3
    assert copied(uri) == b"F"


@pytest.mark.slow
def test_tasks_that_come_together_make_one_copy(tmp_path, copies, monkeypatch):
    upload(caffe_db(tmp_path / "db"))
    made, copy = [], host_copy._copy

    def slow(path, *others):
        made.append(path)
        time.sleep(0.2)
        copy(path, *others)

    monkeypatch.setattr(host_copy, "_copy", slow)
    found = []
    tasks = [
        threading.Thread(target=lambda: found.append(read(LMDB(URI)).features), daemon=True)
        for _ in range(4)
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(30)
    assert (len(made), len(found)) == (1, 4)


@pytest.mark.slow
def test_a_copy_that_gets_no_further_is_an_error(tmp_path, copies, monkeypatch):
    monkeypatch.setattr(host_copy, "STALL_TIMEOUT", 0.2)
    upload(caffe_db(tmp_path / "db"))
    path = host_copy.host_copy(f"{URI}/data.mdb")
    os.remove(path)
    with open(f"{path}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        message = f"^{URI}/data.mdb: another process is copying it and made no progress"
        with pytest.raises(DataError, match=message):
            read(LMDB(URI))
    np.testing.assert_array_equal(read(LMDB(URI)).features, X)  # the lock has been released


def test_a_copy_may_end_while_another_process_looks_at_it(tmp_path, copies, monkeypatch):
    upload(caffe_db(tmp_path / "db"))
    whole = Path(host_copy.host_copy(f"{URI}/data.mdb"))
    part, stat = host_copy.partial(whole), Path.stat
    whole.rename(part)
    with open(f"{whole}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def finish(path, **options):
            found = stat(path, **options)
            if path == part:
                part.rename(whole)
                fcntl.flock(lock, fcntl.LOCK_UN)
            return found

        monkeypatch.setattr(Path, "stat", finish)
        assert host_copy.host_copy(f"{URI}/data.mdb") == str(whole)


def test_the_least_recently_used_go_first(tmp_path, copies, monkeypatch):
    caffe_db(tmp_path / "db")
    size = os.path.getsize(tmp_path / "db/data.mdb")
    monkeypatch.setenv("SPARKDL_COPIES_BYTES", str(2 * size))
    paths = []
    for name, age in [("a", 100), ("b", 200), ("c", 0)]:
        upload(tmp_path / "db", f"memory://elsewhere/{name}")
        paths.append(host_copy.host_copy(f"memory://elsewhere/{name}/data.mdb"))
        os.utime(paths[-1], (time.time() - age,) * 2)
    assert [os.path.exists(path) for path in paths] == [True, False, True]
    monkeypatch.setenv("SPARKDL_COPIES_BYTES", "100")
    with pytest.raises(
        DataError, match="bytes are above the budget of 100; raise SPARKDL_COPIES_B"
    ):
        read(LMDB(upload(tmp_path / "db", "memory://elsewhere/d")))


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path, copies, monkeypatch):
    upload(caffe_db(tmp_path / "db"))

    def full(source, out, size):
        out.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host_copy.shutil, "copyfileobj", full)
    message = f"^{URI}/data.mdb: cannot be copied to {copies} on .+: No space left on device"
    with pytest.raises(DataError, match=message):
        read(LMDB(URI))
    assert [one.suffix for one in copies.iterdir()] == [".lock"]


def test_what_is_missing_or_damaged_is_named(tmp_path):
    with pytest.raises(DataError, match="^memory://elsewhere/none: there is no such file"):
        LMDB("memory://elsewhere/none").splits()
    fsspec.filesystem("memory").makedirs("/elsewhere/empty")
    with pytest.raises(DataError, match="must be an LMDB, but the folder has no data.mdb"):
        LMDB("memory://elsewhere/empty").splits()
    for content in (b"", b"no database" * 999):
        with files.open(f"{URI}/data.mdb", "wb") as out:
            out.write(content)
        with pytest.raises(DataError, match=f"^{URI}: must be an LMDB"):
            LMDB(URI).splits()
    put(tmp_path / "db", [])
    with pytest.raises(DataError, match=f"^{URI}: must hold records, but the LMDB is empty"):
        LMDB(upload(tmp_path / "db")).splits()


def test_several_are_read_one_after_the_other(tmp_path):
    paths = [caffe_db(tmp_path / "a"), upload(caffe_db(tmp_path / "b"))]
    batch = read(LMDB(paths, records_per_split=4))
    np.testing.assert_array_equal(batch.features, np.concatenate([X, X]))
    assert len(set(batch.ids.tolist())) == 20
    splits = LMDB(paths).splits()
    assert [split.partition for split in splits] == list(range(len(splits)))


def test_where_copies_lie(tmp_path, monkeypatch):
    assert host_copy.folder() == tmp_path / "copies"
    monkeypatch.delenv("SPARKDL_COPIES")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert str(host_copy.folder()) == "/cache/sparkdl/copies"
    monkeypatch.setenv("LOCAL_DIRS", "/disk1/a,/disk2/a")
    assert str(host_copy.folder()) == "/disk1/a/sparkdl-copies"


COPIER = """
import shutil, sys, time
from sparkdl.data import host_copy

def stuck(source, out, size):
    out.write(b"some")
    out.flush()
    print("copying", flush=True)
    time.sleep(60)

host_copy.shutil.copyfileobj = stuck
host_copy.host_copy(sys.argv[1])
"""


def test_a_process_that_dies_while_it_copies_leaves_the_way_free(tmp_path, copies):
    path = f"{caffe_db(tmp_path / 'db')}/data.mdb"
    command = [sys.executable, "-c", COPIER, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "copying\n"
        finally:
            process.kill()
    assert [one.suffix for one in sorted(copies.iterdir())] == [".lock", ".part"]
    with open(path, "rb") as wanted, open(host_copy.host_copy(path), "rb") as made:
        assert made.read() == wanted.read()
    assert [one.suffix for one in sorted(copies.iterdir())] == [".mdb", ".lock"]


def test_a_copy_that_somebody_else_could_change_is_not_believed(tmp_path, copies):
    uri = upload(caffe_db(tmp_path / "db"))
    copy = host_copy.host_copy(f"{uri}/data.mdb")
    whole = Path(copy).read_bytes()
    for poison in (lambda: os.chmod(copy, 0o666), lambda: link_to(copy, tmp_path / "poison")):
        poison()
        with open(copy, "r+b") as file:
            file.write(b"poison")
        assert Path(host_copy.host_copy(f"{uri}/data.mdb")).read_bytes() == whole
        assert os.lstat(copy).st_mode & 0o777 == 0o600


def link_to(copy, target):
    os.rename(copy, target)
    os.symlink(target, copy)


def test_a_folder_of_copies_that_others_can_change_is_refused(tmp_path, copies):
    uri = upload(caffe_db(tmp_path / "db"))
    host_copy.host_copy(f"{uri}/data.mdb")
    copies.chmod(0o777)
    with pytest.raises(DataError, match=r"data\.mdb.*mode 777; chmod 700 it"):
        host_copy.host_copy(f"{uri}/data.mdb")


def test_a_copy_is_its_user_s_under_any_umask(tmp_path, monkeypatch):
    uri, before = upload(caffe_db(tmp_path / "db")), os.umask(0)
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "new" / "copies"))
    try:
        copy = Path(host_copy.host_copy(f"{uri}/data.mdb"))
    finally:
        os.umask(before)
    made = [copy.parent.parent, copy.parent, copy, Path(f"{copy}.lock")]
    assert [one.stat().st_mode & 0o777 for one in made] == [0o700, 0o700, 0o600, 0o600]


def test_what_lies_in_the_place_of_an_unfinished_copy_is_not_written_to(tmp_path, copies):
    uri, precious = upload(caffe_db(tmp_path / "db")), tmp_path / "precious"
    precious.write_bytes(b"precious")
    part = Path(f"{host_copy.place_of(f'{uri}/data.mdb')[1]}.part")
    copies.mkdir(0o700)
    os.link(precious, part)
    np.testing.assert_array_equal(read(LMDB(uri)).features, X)
    assert precious.read_bytes() == b"precious" and not part.exists()


@pytest.fixture
def documents(tmp_path, copies):
    """A folder of old user files, with a symbolic link to it in place of the copies."""
    mine = tmp_path / "documents"
    mine.mkdir(0o700)
    for name in ("thesis.tex", "a-letter", "0123456789abcdef-thesis.lock"):
        (mine / name).write_bytes(b"x" * 100)
        os.utime(mine / name, (0, 0))
    copies.symlink_to(mine)
    return mine


def test_what_others_have_written_is_not_deleted(documents, tmp_path, copies, monkeypatch):
    uri, before = upload(caffe_db(tmp_path / "db")), {one.name for one in documents.iterdir()}
    monkeypatch.setenv("SPARKDL_COPIES_BYTES", str(os.path.getsize(tmp_path / "db/data.mdb")))
    np.testing.assert_array_equal(read(LMDB(uri)).features, X)
    assert before < {one.name for one in documents.iterdir()}, "a user's own link is used"


def test_a_link_of_another_user_is_refused(documents, tmp_path, copies, monkeypatch):
    uri, before = upload(caffe_db(tmp_path / "db")), sorted(documents.iterdir())
    give_to(os.getuid() + 1, copies, monkeypatch)
    with pytest.raises(DataError, match="must be a folder that this user .* and a link"):
        read(LMDB(uri))
    assert sorted(documents.iterdir()) == before
