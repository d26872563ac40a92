"""The file of optimizer states is written completely or not at all."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from sparkdl.errors import CheckpointError
from sparkdl.exchange.store.client import optimizer_states

STATES = {"w": {"velocity": np.arange(3.0), "steps": np.array(7)}, "b": {}}


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_what_is_written_is_read(tmp_path, kind):
    path = tmp_path / "states"
    path.write_bytes(b"old")
    optimizer_states.write(kind(path), STATES)
    found = optimizer_states.read(kind(path))
    assert found.keys() == STATES.keys() and not found["b"]
    for name, array in STATES["w"].items():
        np.testing.assert_array_equal(found["w"][name], array)
    assert [*tmp_path.iterdir()] == [path]


def test_links_beside_it_are_not_followed(tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "states"
    precious.write_bytes(b"precious")
    (tmp_path / f"states.{os.getpid()}.part").symlink_to(precious)
    optimizer_states.write(path, STATES)
    assert precious.read_bytes() == b"precious" and not path.is_symlink()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="none/states: cannot be written: No such file"):
        optimizer_states.write(tmp_path / "none" / "states", STATES)
    assert not list(tmp_path.iterdir())


def saved(**members):
    """Returns the bytes of an archive of these members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    return content.getvalue()


def member(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def contents(text):
    return member(np.frombuffer(text.encode(), np.uint8))


def headed(text):
    """Returns the bytes of an array that has only a header, with this text."""
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text.encode()


def compressed():
    content = io.BytesIO()
    np.savez_compressed(content, contents=np.zeros(9, np.uint8))
    return content.getvalue()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000,)}"
GOOD = json.dumps({"format": optimizer_states.FORMAT, "keys": {"w": {"velocity": "a0"}}})
DAMAGED = {
    "one array": member(np.arange(3)),
    "a list": saved(contents=contents("[]")),
    "deep": saved(contents=contents("[" * 100_000)),
    "a header that is cut": saved(contents=contents(GOOD), a0=member(np.arange(3))[:40]),
    "a header that does not end": saved(
        contents=contents(GOOD), a0=member(np.arange(3)).replace(b"(3,)", b"((3,")
    ),
    "a header that is deep": saved(contents=contents(GOOD), a0=headed("-" * 9000 + "1")),
    "a header that says too much": saved(contents=contents(GOOD), a0=headed(HUGE)),
    "one array that says too much": headed(HUGE),
    "an encrypted member": saved(contents=contents(GOOD)).replace(
        b"PK\x01\x02\x14\x03\x14\0\0", b"PK\x01\x02\x14\x03\x14\0\1"
    ),
    "compressed": compressed(),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_a_checkpoint_error_that_names_the_file(tmp_path, name):
    (tmp_path / "states").write_bytes(DAMAGED[name])
    with pytest.raises(CheckpointError, match="states: must hold optimizer states"):
        optimizer_states.read(tmp_path / "states")


def test_a_lack_of_memory_is_no_damage(tmp_path, monkeypatch):
    optimizer_states.write(tmp_path / "states", STATES)
    read = np.lib.format.read_array

    def read_short(*arguments, **options):
        array = read(*arguments, **options)
        if array.dtype == float:
            raise MemoryError("Unable to allocate 24. B")
        return array

    monkeypatch.setattr(np.lib.format, "read_array", read_short)
    with pytest.raises(MemoryError, match="Unable to allocate"):
        optimizer_states.read(tmp_path / "states")
