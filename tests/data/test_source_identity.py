"""Which sources are the same, by their options and the stamps or digests of their files."""

import errno
import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from sparkdl.data import HDF5, Arrays, Cifar, Csv, Idx, Images, file_stamps, files
from sparkdl.data.file_facts import About
from sparkdl.data.file_stamps import stamp_file, stamp_files
from sparkdl.data.source import Source

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def arrays(x=X, **options):
    return Arrays(x, np.arange(4), **options)


def changed():
    array = X.copy()
    source = arrays(array)
    before = source.identity()
    array[2, 1] = 9
    return before, source.identity()


ARRAYS = {  # pairs of identities, and whether they are equal
    "the same": lambda: (arrays().identity(), arrays().identity(), True),
    "equal ones": lambda: (arrays().identity(), arrays(X.copy()).identity(), True),
    "in another order in memory": lambda: (
        arrays().identity(),
        arrays(np.asfortranarray(X)).identity(),
        True,
    ),
    "another transform": lambda: (arrays().identity(), arrays(scale=2).identity(), True),
    "other splits": lambda: (arrays().identity(), arrays(records_per_split=2).identity(), False),
    "another type": lambda: (arrays().identity(), arrays(X.astype(float)).identity(), False),
    "another shape": lambda: (
        arrays().identity(),
        arrays(X.reshape(4, 3, 1)).identity(),
        False,
    ),
    "another name": lambda: (arrays().identity(), arrays({"x": X}).identity(), False),
    "changed where it stands": lambda: (*changed(), False),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays(case):
    one, other, equal = ARRAYS[case]()
    assert None not in (one, other)
    assert (one == other) == equal


def test_objects_have_no_identity():
    assert Arrays(np.array([["a", None]], dtype=object)).identity() is None


class OwnArrays(Arrays, abstract=True):
    """A user's subclass, which may give other records than its base."""


class OwnCsv(Csv, abstract=True):
    """A user's subclass, which may read more files than its base."""


def test_a_class_of_a_user_has_none(folder):
    assert Source.identity(arrays()) is None
    assert OwnArrays(X, np.arange(4)).identity() is None
    assert OwnCsv(str(folder)).identity() is None


@pytest.fixture
def on_disk(monkeypatch):
    """Lets tests run whose files are on tmpfs."""
    monkeypatch.setattr(file_stamps, "memory_devices", set)


@pytest.fixture
def folder(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("1,2\n")
    return tmp_path


def csv(path, **options):
    return Csv(**{"path": str(path), "features": [0], "label": 1, "header": False} | options)


def test_files(folder):
    one = csv(folder).identity()
    assert one is not None
    assert one == csv(folder, scale=2).identity()
    assert one != csv(folder, bytes_per_split=1).identity()
    assert one != csv(folder / "a.csv").identity()
    assert csv(folder / "c.csv").identity() is None


def rewrite(folder):
    """Replaces a file by another one with the same size and modification time."""
    path, new = folder / "a.csv", folder / "new"
    new.write_text("3,4\n")
    about = path.stat()
    os.replace(new, path)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


CHANGES = {
    "rewritten": rewrite,
    "touched": lambda folder: os.utime(folder / "a.csv"),
    "longer": lambda folder: (folder / "a.csv").write_text("1,2\n3,4\n"),
    "one more": lambda folder: (folder / "c.csv").write_text("1,2\n"),
    "one less": lambda folder: (folder / "b.csv").unlink(),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changed_files(case, folder):
    before = csv(folder).identity()
    CHANGES[case](folder)
    assert csv(folder).identity() != before


def test_listed_files_count(on_disk, tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "lists").mkdir()
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["data"] = X
    listing = tmp_path / "lists" / "train.txt"
    listing.write_text(f"{tmp_path}/one.h5\n")
    before = HDF5(str(listing), label=None).identity()
    assert before == HDF5(str(listing), label=None).identity()
    os.utime(tmp_path / "one.h5")
    assert HDF5(str(listing), label=None).identity() != before


def test_both_files_of_a_pair_count(on_disk, tmp_path):
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_text("a"), labels.write_text("b")
    before = Idx(str(images), label_path=str(labels)).identity()
    os.utime(labels)
    assert Idx(str(images), label_path=str(labels)).identity() != before


@pytest.mark.parametrize("flushed", [False, True])
def test_a_change_of_mapped_memory_shows(flushed, tmp_path):
    """Linux sets the file's time when a page is first written to, not again until it is on disk."""
    path = tmp_path / "mapped"
    np.zeros(2 * 3073, np.uint8).tofile(path)
    if tmp_path.stat().st_dev in file_stamps.memory_devices():
        pytest.skip("its pages set no time")
    mapped = np.memmap(path, np.uint8, "r+")
    mapped[1] = 1
    before = Cifar(str(path)).identity()
    assert None is not before == Cifar(str(path)).identity()
    time.sleep(0.05)  # the clock of files has ticked
    mapped[2] = 1
    if flushed:
        mapped.flush()
    assert Cifar(str(path)).identity() != before


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="needs a file system in memory")
def test_memory_sets_no_time(tmp_path):
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        np.zeros(3073, np.uint8).tofile(file.name)
        assert Cifar(file.name).identity() is None
        assert csv(file.name).identity() is not None


@pytest.mark.parametrize("code, is_known", [(errno.EINVAL, True), (errno.EIO, False)])
def test_file_systems_that_write_nothing(code, is_known, on_disk, tmp_path, monkeypatch):
    np.zeros(3073, np.uint8).tofile(tmp_path / "records")

    def fsync(number):
        raise OSError(code, "no")

    with monkeypatch.context() as patch:
        patch.setattr(file_stamps.os, "fsync", fsync)
        assert (Cifar(str(tmp_path / "records")).identity() is not None) == is_known


OLD_ENOUGH = {"parts of a second": 0.5, "whole seconds, just now": 0, "whole seconds, old": 10}


@pytest.mark.parametrize("case", OLD_ENOUGH)
def test_times_of_a_local_system(case, folder, monkeypatch):
    found = os.stat(folder / "a.csv")
    changed = int(time.time()) - OLD_ENOUGH[case]
    names = {"st_size": 1, "st_ino": 1, "st_mtime_ns": changed * 10**9}
    about = SimpleNamespace(**names, st_ctime_ns=int(changed * 10**9), st_mode=found.st_mode)
    with monkeypatch.context() as patch:
        patch.setattr(file_stamps.os, "stat", lambda path: about)
        stamp = stamp_file(str(folder / "a.csv"))
    assert (stamp is None) == (case == "whole seconds, just now")


def test_too_many_files_are_not_asked_for(folder, monkeypatch):
    (folder / "c/d").mkdir(parents=True)
    (folder / "c/d/e.csv").touch()
    listed, entries = [], files._entries
    monkeypatch.setattr(files, "_entries", lambda path: (listed.append(path), entries(path))[1])
    monkeypatch.setattr(file_stamps, "MOST_FILES", 1)
    assert stamp_files([str(folder)]) is None
    assert listed == [str(folder)]  # its two files already exceed the limit
    assert stamp_files([f"{folder}/a.csv", f"{folder}/b.csv"]) is None
    assert stamp_files([str(folder / "a.csv")]) is not None


class ListedStore(MemoryFileSystem):
    """Caches its listings, as s3fs and others do."""

    protocol, store = "listed", {}

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(path.removeprefix("listed:"))

    def ls(self, path, detail=True, **options):
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True)
        return self.dircache[path]

    def info(self, path, **options):
        listed = self.dircache.get(self._parent(path), [])
        return next((one for one in listed if one["name"] == path), None) or super().info(path)

    def modified(self, path):
        return datetime(2026, 1, 1, tzinfo=UTC)

    def invalidate_cache(self, path=None):
        self.dircache.clear()


@pytest.mark.parametrize("kind, ending", [(Csv, "csv"), (Images, "png")])
def test_listings_that_a_store_keeps_hide_no_change(kind, ending, monkeypatch):
    monkeypatch.setattr(ListedStore, "store", {})
    monkeypatch.setattr(ListedStore, "pseudo_dirs", [""])
    fsspec.register_implementation("listed", ListedStore, clobber=True)
    source = kind("listed://folder")
    other = ListedStore(skip_instance_cache=True)  # as in another process
    other.pipe(f"/folder/a/b.{ending}", b"label,x\n1,2")
    before = source.identity()
    assert None is not before == source.identity()
    other.pipe(f"/folder/a/b.{ending}", b"label,x\n3,45")
    assert source.identity() != before
    assert len(source.splits()) == 1
    other.pipe(f"/folder/a/c.{ending}", b"label,x\n3,45")
    after = source.splits()
    assert sum(len(getattr(split, "names", "1")) for split in after) == 2


PART = timedelta(microseconds=1)
TIMES = {
    "none": (lambda now: None, False),
    "parts of a second": (lambda now: now + PART, True),
    "whole seconds, just now": (lambda now: now, False),
    "whole seconds, long ago": (lambda now: now - timedelta(hours=1), True),
}


@pytest.mark.parametrize("case", TIMES)
def test_times_of_other_systems(case, monkeypatch):
    at, known = TIMES[case]
    changed = at(datetime.now(UTC).replace(microsecond=0))
    about = About("file", 3, str(changed), changed, has_digest=False, asked=datetime.now(UTC))
    expected = ("memory://a", 3, str(changed)) if known else None
    assert stamp_file("memory://a", about) == expected
