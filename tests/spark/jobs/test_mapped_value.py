"""Files that the processes of an executor map: who writes, who waits, and what is deleted."""

import logging
import os
import time

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.spark.jobs import mapped_value
from sparkdl.spark.jobs.mapped_value import FOLDER, KEPT, LOCK, locked, map_value
from tests.support.processes import forking

PARTS = {
    "of odd sizes": [b"", b"abc", bytes(range(256)) * 33],
    "one": [b"x"],
    "arrays": [np.arange(10.0), bytearray(b"12345")],
}


def never():
    raise AssertionError("the file is there")


@pytest.mark.parametrize("name", PARTS)
def test_parts_come_back_from_the_file(name, tmp_path):
    expected = [bytes(memoryview(part).cast("B")) for part in PARTS[name]]
    for load in (lambda: PARTS[name], never):
        found = map_value(tmp_path, "value", load)
        assert [bytes(part) for part in found] == expected
        assert all(part.readonly for part in found)
    assert sorted(os.listdir(tmp_path / FOLDER)) == [LOCK, "value"]


def test_arrays_may_lie_in_the_file(tmp_path):
    [_, part] = map_value(tmp_path, "value", lambda: [b"odd", np.arange(5.0)])
    assert np.frombuffer(part).tolist() == [0, 1, 2, 3, 4]
    assert np.frombuffer(part, np.uint8).ctypes.data % mapped_value.ALIGNMENT == 0


def test_the_values_that_were_used_last_stay(tmp_path):
    held = map_value(tmp_path, "0", lambda: [b"first"])
    for number in range(1, KEPT + 1):
        map_value(tmp_path, str(number), lambda: [b"more"])
        map_value(tmp_path, "1", never)
        time.sleep(0.01)
    assert sorted(os.listdir(tmp_path / FOLDER)) == [*map(str, range(1, KEPT + 1)), LOCK]
    assert bytes(held[0]) == b"first"  # although its file is gone
    assert bytes(map_value(tmp_path, "0", lambda: [b"again"])[0]) == b"again"


def loaded_by(folder, pipe):
    """Sends the number of times that this process had to load the value."""
    loads = []

    def load():
        time.sleep(0.3)  # the other processes arrive meanwhile
        return loads.append(1) or [b"value"]

    map_value(folder, "value", load)
    pipe.send(len(loads))


def test_one_of_several_processes_writes(tmp_path):
    mine, theirs = forking.Pipe(duplex=False)
    started = [forking.Process(target=loaded_by, args=(tmp_path, theirs)) for _ in range(4)]
    for process in started:
        process.start()
    counts = [mine.recv() for _ in started]
    for process in started:
        process.join()
    assert sorted(counts) == [0, 0, 0, 1]


def test_a_process_that_waits_too_long_keeps_its_own(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(mapped_value, "PATIENCE", 0.2)
    map_value(tmp_path, "other", lambda: [b"x"])
    with locked(tmp_path / FOLDER / LOCK) as mine, caplog.at_level(logging.WARNING):
        assert mine
        [part] = map_value(tmp_path, "value", lambda: [b"own"])
    assert bytes(part) == b"own" and part.readonly
    assert "was not written in 0 s" in caplog.text
    assert not (tmp_path / FOLDER / "value").exists()


def test_what_a_killed_process_left_is_written_anew(tmp_path):
    map_value(tmp_path, "other", lambda: [b"x"])
    (tmp_path / FOLDER / "value.unfinished").write_bytes(b"half")
    [part] = map_value(tmp_path, "value", lambda: [b"whole"])
    assert bytes(part) == b"whole"


def test_a_file_that_others_can_write_is_refused(tmp_path):
    map_value(tmp_path, "value", lambda: [b"mine"])
    path = tmp_path / FOLDER / "value"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    with pytest.raises(UnsupportedError, match="this user alone"):
        map_value(tmp_path, "value", never)
