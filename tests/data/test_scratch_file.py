"""Temporary files without names."""

import os
import tempfile
from contextlib import closing

from sparkdl.data.scratch_file import ScratchFile


def test_what_is_appended_is_found_where_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(ScratchFile("a-")) as scratch:
        assert [scratch.append(part) for part in (b"some", b"", b"more")] == [0, 4, 4]
        scratch.file.seek(4)
        assert scratch.nbytes == 8 and scratch.file.read() == b"more"
        assert not os.listdir(tmp_path)
