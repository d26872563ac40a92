"""Opening of IDX files; what they hold is tested with the other sources."""

import gzip

import pytest

from sparkdl.data import files
from sparkdl.data.readers.ndarray import fixed_records

CONTENTS = {"plain": b"plain", "gzipped": gzip.compress(b"gzipped")}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_is_closed_however_it_was_read(tmp_path, monkeypatch, name):
    path = tmp_path / "a"
    path.write_bytes(CONTENTS[name])
    opened, open_file = [], files.open
    monkeypatch.setattr(files, "open", lambda path: opened.append(open_file(path)) or opened[-1])
    with fixed_records.open_decompressed(str(path)) as file:
        assert file.read() == name.encode()
    assert opened[0].closed
