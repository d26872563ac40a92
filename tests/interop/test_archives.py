"""Foreign zips: members with impossible sizes are refused before memory is allocated."""

import io
import zipfile

import numpy as np
import pytest

from sparkdl.errors import DataError
from sparkdl.interop import archives
from sparkdl.interop.archives import read_members

LONG = 8 << 20  # bytes; deflate compresses them to about 8 KB


def archive_of(members, claims=()):
    """Returns the bytes of a zip with {name: content} and false claims in its central directory.

    `claims` is {name: {field of a ZipInfo: value}}.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        for name, fields in dict(claims).items():
            for field, value in fields.items():
                setattr(archive.getinfo(name), field, value)
    return file.getvalue()


def overlapping():
    """Returns a zip whose 50 members share the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.bin", bytes(LONG))
        [first] = archive.infolist()
        for i in range(1, 50):
            other = zipfile.ZipInfo(f"{i}.bin")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(other, name, getattr(first, name))
            archive.filelist.append(other)
    return file.getvalue()


STORED = {"compress_type": zipfile.ZIP_STORED}
HARM = {  # name: (what makes the zip, message)
    "stored bytes that the file lacks": (
        lambda: archive_of({"0.bin": bytes(LONG)}, {"0.bin": {"compress_size": 1 << 20}}),
        "'0.bin' claims 1048576 bytes of a zip of .*, which do not fit into it",
    ),
    "one member as many": (overlapping, "which do not fit into it"),
    "more than is stored, not compressed": (
        lambda: archive_of({"0.bin": bytes(LONG)}, {"0.bin": STORED}),
        "'0.bin' claims 8388608 bytes of .*, but is not compressed",
    ),
    "a long text": (
        lambda: archive_of({"0.json": b'{"a": 1' + b" " * (17 << 20) + b"}"}),
        "'0.json' claims 17825800 bytes of .*, which is too much",
    ),
    "a text of next to nothing": (
        lambda: archive_of({"0.json": b'{"a": 1' + b" " * (8 << 20) + b"}"}),
        "'0.json' claims 8388616 bytes of .*, which is too much",
    ),
    "much of next to nothing": (
        lambda: archive_of({"0.bin": bytes(70 << 20)}),
        "'0.bin' claims 73400320 bytes of .*, which is too much",
    ),
    "much together": (
        lambda: archive_of({f"{i}.bin": bytes(LONG) for i in range(9)}),
        "'8.bin' claims 8388608 bytes of .*, which is too much",
    ),
}


@pytest.mark.parametrize("name", HARM)
def test_what_cannot_be_is_refused_before_it_is_read(name, tmp_path, monkeypatch):
    make, message = HARM[name]
    (tmp_path / "a.zip").write_bytes(make())
    monkeypatch.setattr(archives, "PIECE", 1 << 24)
    with pytest.raises(DataError, match=message):
        read_members(
            tmp_path / "a.zip", [f"{i}{end}" for i in range(50) for end in (".bin", ".json")]
        )


@pytest.mark.slow
def test_honest_members_are_read(tmp_path):
    """The zeros of a fresh updater can be larger than the weights, but compress to very little."""
    weights = np.random.default_rng(0).bytes(8 << 20)
    text = b'{"layers": [' + b'{"units": 3, "bias": true}, ' * 30_000 + b"{}]}"
    members = {"c.json": text, "w.bin": weights, "u.bin": bytes(4 * len(weights)), "none": b""}
    (tmp_path / "a.zip").write_bytes(archive_of(members))
    found, names = read_members(tmp_path / "a.zip", ["c.json", "w.bin", "u.bin", "none", "other"])
    assert found == members and names == [*members]
