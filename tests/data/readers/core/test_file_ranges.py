"""Files that are split by bytes: opened only if they are seekable and as long as listed."""

import io

import pytest

from sparkdl.data import files
from sparkdl.data.readers.core.file_ranges import ByteSplit, data_files, open_listed
from sparkdl.errors import DataError

SPLIT = ByteSplit(partition=0, count=None, path="http://host/a.csv", start=0, stop=4)


class Stream(io.BytesIO):
    """The file that fsspec opens if an HTTP server says "Accept-Ranges: none"."""

    def seek(self, offset, whence=0):
        raise ValueError("Cannot seek streaming HTTP file")


def test_a_stream_that_cannot_be_cut_is_refused(monkeypatch):
    """Its reads return only what has arrived so far, so records would be lost."""
    file = Stream(b"1,2\n")
    monkeypatch.setattr(files, "open", lambda path, **options: file)
    with pytest.raises(DataError, match="^http://host/a.csv: must be seekable"):
        open_listed(SPLIT, SPLIT.stop)
    assert file.closed


def test_a_file_that_has_become_shorter_says_so(monkeypatch):
    monkeypatch.setattr(files, "open", lambda path, **options: io.BytesIO(b"1,\n"))
    with pytest.raises(DataError, match="a.csv: must have 4 bytes, got 3; was it changed"):
        open_listed(SPLIT, SPLIT.stop)


def test_files_of_other_endings_are_told_once(tmp_path, caplog):
    """They may be records, as of a table of which some files have no ending."""
    hidden = "_SUCCESS", "_metadata", "_common_metadata", ".a.parquet.crc", "_temporary/0/b"
    (tmp_path / "_temporary/0").mkdir(parents=True)
    for name in ("a.parquet", "part-1", *hidden):
        (tmp_path / name).write_bytes(b"x")
    for _ in range(2):
        assert data_files(tmp_path, [".parquet"]) == [f"{tmp_path}/a.parquet"]
    what = f"files that do not end in .parquet are not read: 1, such as {tmp_path}/part-1"
    text = f"{tmp_path}: {what}"
    assert [record.getMessage() for record in caplog.records] == [text]
    assert len(data_files(tmp_path)) == 2
    assert len(caplog.records) == 1
