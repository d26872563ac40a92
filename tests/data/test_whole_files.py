"""Files that are read whole; pipes and devices, which may have no end, are refused."""

import os

import pytest

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError


@pytest.fixture
def path(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    return tmp_path / "file"


def test_bytes_of_files_and_links_are_read(path, tmp_path):
    os.symlink(path, tmp_path / "link")
    for one in path, str(path), path.as_uri(), tmp_path / "link":
        assert read_whole(one) == read_whole(one, 10) == b"0123456789"


def test_longer_files_are_refused(path):
    with pytest.raises(DataError, match="file: must have at most 9 bytes, got more"):
        read_whole(path, 9)


def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "zeros")
    for name, kind in (("pipe", "a pipe"), ("zeros", "a device")):
        with pytest.raises(DataError, match=f"{name}: must be a file, got {kind}"):
            read_whole(tmp_path / name)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_whole(tmp_path / "none")
    with pytest.raises(DataError, match="Is a directory"):
        read_whole(tmp_path)
