"""Table files of a process are deleted with their last user, and all at exit."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError
from sparkdl.training.saving import table_folder
from sparkdl.training.saving.stored_tables import StoredTables
from sparkdl.training.saving.table_folder import (
    MADE,
    make_folder,
    own_file,
    sweep,
)


def written(tmp_path, *names):
    """Returns (a new TableFolder with these files, its Path)."""
    folder = make_folder(str(tmp_path))
    place = Path(folder.path)
    assert [path.name for path in place.iterdir()] == [MADE]
    for name in names:
        (place / name).write_bytes(b"x")
    return folder, place


def names(place):
    gc.collect()
    sweep()
    return sorted(path.name for path in place.iterdir() if path.name != MADE)


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path):
    (tmp_path / "rows").write_text("a file")
    with pytest.raises(DataError, match="rows/.* cannot be written"):
        make_folder(str(tmp_path / "rows"))


@pytest.mark.slow
def test_files_go_with_their_last_user_and_folders_with_what_is_left(tmp_path):
    folder, place = written(tmp_path, "one", "two", "unfinished")
    one, two = (own_file(folder, name, 1, name) for name in ("one", "two"))
    first = StoredTables(((one,),))
    second = StoredTables(((own_file(folder, "one", 1, "one"), two),))
    assert second.shards[0][0] is one
    del one, two, folder, second
    assert names(place) == ["one", "unfinished"]
    del first
    gc.collect()
    sweep()
    assert not place.exists() and tmp_path.exists()
    assert place.as_posix() not in table_folder.OWN


def test_a_file_that_the_driver_does_not_find_is_refused(tmp_path, monkeypatch):
    folder, _ = written(tmp_path, "one")
    own_file(folder, "one", 1, "one", check=True)
    for name, found in (("one", 1), ("none", 0)):
        with pytest.raises(ConfigError, match=f"driver and all workers reach.*finds {found};"):
            own_file(folder, name, 2, "other", check=True)

    def fail(path):
        raise DataError(f"{path}: the NameNode does not answer")

    monkeypatch.setattr(files, "size", fail)
    own_file(folder, "none", 2, "another", check=True)


@pytest.mark.slow
def test_another_process_removes_nothing(tmp_path, monkeypatch):
    folder, place = written(tmp_path, "one")
    one = own_file(folder, "one", 1, "")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    del one, folder
    assert names(place) == ["one"]
    table_folder.sweep_all()
    assert names(place) == ["one"]


SCRIPT = """
import os, sys, threading, time
from sparkdl.training.saving.table_folder import make_folder, own_file
folder = make_folder(sys.argv[1])
open(folder.path + "/one", "w").write("x")
kept = own_file(folder, "one", 1, "")
print(os.listdir(sys.argv[1]))
if sys.argv[2] == "error":
    raise SystemExit(3)
if sys.argv[2] == "thread":
    def work():
        time.sleep(0.5)
        print(os.path.exists(kept.path))
    threading.Thread(target=work).start()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["well", "error", "thread"])
def test_all_go_as_the_process_ends(way, tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), way]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert len(ended.stdout) > 10 and not ended.stderr
    assert ended.stdout.endswith("True\n") == (way == "thread")
    assert not [*tmp_path.iterdir()]
