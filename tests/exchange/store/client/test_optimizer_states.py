"""The file of optimizer states is written completely or not at all."""

import os

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
