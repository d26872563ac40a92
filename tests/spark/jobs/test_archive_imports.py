"""Archives on Python's path are read again only if they have changed."""

import importlib.util
import os
import pickle
import sys
import zipfile
import zipimport

import pytest
from pyspark import cloudpickle

from sparkdl.spark.jobs import archive_imports
from sparkdl.spark.jobs.archive_imports import KeptArchive, keep_archives
from sparkdl.spark.jobs.sent_function import SentFunction
from sparkdl.spark.records.records import begin_reading

ABSENT = "module_of_no_archive"


def write(path, modules, mode="w"):
    with zipfile.ZipFile(path, mode) as archive:
        for name, text in modules.items():
            archive.writestr(f"{name}.py", text)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive on Python's path, from which a package has been imported in the usual way."""
    path = tmp_path / "kept_archive.zip"
    write(path, {"kept_package/__init__": "", "kept_package/one": "VALUE = 1"})
    monkeypatch.setattr(sys, "path", [str(path), *sys.path])
    monkeypatch.setattr(sys, "path_hooks", [zipimport.zipimporter, *sys.path_hooks[1:]])
    monkeypatch.setattr(archive_imports, "READ", {})
    importers = dict(sys.path_importer_cache)
    assert importlib.import_module("kept_package.one").VALUE == 1
    yield path
    for name in [name for name in sys.modules if name.startswith("kept_")]:
        del sys.modules[name]
    sys.path_importer_cache.clear()
    sys.path_importer_cache.update(importers)


@pytest.fixture
def readings(archive, monkeypatch):
    """Paths of the archives that were read, in a process that keeps them."""
    keep_archives()
    read, paths = zipimport._read_directory, []
    monkeypatch.setattr(zipimport, "_read_directory", lambda p: (paths.append(p), read(p))[1])
    return paths


def test_an_archive_that_is_the_same_is_not_read_again(archive, readings):
    for _ in range(3):
        importlib.invalidate_caches()
        assert importlib.util.find_spec(ABSENT) is None
    assert readings == []
    assert isinstance(sys.path_importer_cache[str(archive)], KeptArchive)


@pytest.mark.parametrize("name", ["kept_package.two", "kept_alone"])
def test_a_changed_archive_is_read_again(archive, readings, name):
    assert importlib.util.find_spec(name) is None
    before = os.stat(archive)
    write(archive, {name.replace(".", "/"): "VALUE = 2"}, "a")
    os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))  # as cp -p leaves it
    importlib.invalidate_caches()
    assert importlib.import_module(name).VALUE == 2
    assert set(readings) == {str(archive)}
    count = len(readings)
    importlib.invalidate_caches()
    assert importlib.util.find_spec(ABSENT) is None and len(readings) == count


def test_a_package_imported_after_a_change_is_read_again(archive, readings):
    """It is found in the directory that was read before the change."""
    write(archive, {"kept_package/late": "VALUE = 3"}, "a")
    del sys.modules["kept_package"], sys.path_importer_cache[f"{archive}/kept_package"]
    package = importlib.import_module("kept_package")
    assert importlib.util.find_spec("kept_package.late") is None and readings == []
    importlib.invalidate_caches()
    assert importlib.import_module("kept_package.late").VALUE == 3 and package.__path__


def test_an_archive_that_is_gone_has_no_modules(archive, readings):
    archive.unlink()
    importlib.invalidate_caches()
    assert importlib.util.find_spec("kept_package.two") is None
    with pytest.raises(ImportError):
        importlib.import_module("kept_alone")


def test_folders_are_looked_at_as_before(archive, readings, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert importlib.util.find_spec("kept_beside") is None
    (tmp_path / "kept_beside.py").write_text("VALUE = 4")
    importlib.invalidate_caches()
    assert importlib.import_module("kept_beside").VALUE == 4


@pytest.mark.parametrize("before_each", [True, False])
def test_tasks_keep_archives_where_pyspark_reads_them_before_each(
    archive, monkeypatch, before_each
):
    monkeypatch.setattr(archive_imports, "IS_CALLED_BEFORE_EACH_TASK", before_each)
    for task in (SentFunction(len), begin_reading):
        hooks = [zipimport.zipimporter, *sys.path_hooks[1:]]
        monkeypatch.setattr(sys, "path_hooks", hooks)
        pickle.loads(cloudpickle.dumps(task))([1, 2])
        assert hooks[0] is (KeptArchive if before_each else zipimport.zipimporter)
