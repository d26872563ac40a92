"""Opening of IDX files, plain or gzipped; damage is tested with the other sources."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from sparkdl.data import Batch, Idx, files
from sparkdl.data.readers.ndarray import fixed_records
from sparkdl.errors import DataError

CONTENTS = {"plain": b"plain", "gzipped": gzip.compress(b"gzipped")}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_is_closed_however_it_was_read(tmp_path, monkeypatch, name):
    path = tmp_path / "a"
    path.write_bytes(CONTENTS[name])
    opened, open_file = [], files.open

    def keep(path, **options):
        opened.append(open_file(path, **options))
        return opened[-1]

    monkeypatch.setattr(files, "open", keep)
    with fixed_records.open_decompressed(str(path)) as file:
        assert file.read() == name.encode()
    assert opened[0].closed


SIZES = {"whole": None, "in ranges": 1000}


@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
def test_a_gzipped_file_has_the_records_of_the_plain_one(tmp_path, monkeypatch, size):
    x = np.random.default_rng(0).integers(0, 256, (2500, 3, 2), np.uint8)
    contents = [idx(x), idx(np.arange(2500, dtype=np.uint8))]
    plain, zipped = ([str(tmp_path / f"{kind}{n}") for n in range(2)] for kind in "pz")
    for path, content in zip([*plain, *zipped], [*contents, *contents], strict=True):
        content = gzip.compress(content) if path in zipped else content
        Path(path).write_bytes(content)
    expected, found = (
        Batch.concat(batches_of(Idx(paths[0], label_path=paths[1], records_per_split=size)))
        for paths in (plain, zipped)
    )
    np.testing.assert_array_equal(found.columns["features"], x[:, None])
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
    assert len(set(found.ids.tolist())) == 2500
    if size is not None:
        assert found.ids.tolist() == expected.ids.tolist()


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def batches_of(source):
    return [batch for split in source.splits() for batch in source.read(split)]


def test_a_gzipped_file_is_decompressed_once(tmp_path, monkeypatch):
    path, read = tmp_path / "a.gz", []
    path.write_bytes(gzip.compress(idx(np.zeros((20_000, 4, 4), np.uint8))))
    readinto = gzip.GzipFile.readinto
    rewind = gzip.GzipFile.rewind

    def count(file, buffer):
        read.append(readinto(file, buffer))
        return read[-1]

    monkeypatch.setattr(gzip.GzipFile, "readinto", count)
    monkeypatch.setattr(gzip.GzipFile, "rewind", lambda file: read.append(None) or rewind(file))
    source = Idx(str(path))
    [split] = source.splits()
    assert split.count == 20_000 and sum(map(len, source.read(split))) == 20_000
    assert sum(read) == 20_000 * 16


@pytest.mark.slow
@pytest.mark.parametrize(("side", "most"), [(400, 16 << 20), (5000, 5000**2)])
def test_batches_of_a_gzipped_file_are_bounded_in_bytes(tmp_path, side, most):
    """Zeros are a thousandth of their size when gzipped."""
    path, count = tmp_path / "a.gz", 600 if side == 400 else 3
    path.write_bytes(gzip.compress(idx(np.zeros((count, side, side), np.uint8)), 1))
    sizes = [batch.columns["features"].nbytes for batch in batches_of(Idx(str(path)))]
    assert sum(sizes) == count * side**2 and most // 2 < max(sizes) <= most


@pytest.mark.slow
def test_a_record_that_expands_too_much_is_refused(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(idx(np.zeros((2, 9000, 9000), np.uint8)), 1))
    text = r"to at most \d+ at a time, got 1 records? of 81000000; decompress the file first$"
    with pytest.raises(DataError, match=text):
        batches_of(Idx(str(path)))
