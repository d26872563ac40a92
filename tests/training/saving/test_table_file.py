"""Files of rows: any safetensors reader can read them, and damage is refused."""

import copy
import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from sparkdl.data import host_copy
from sparkdl.errors import CheckpointError
from sparkdl.training.saving import table_file
from sparkdl.training.saving.table_file import TableFile, map_arrays, write_table_file

ARRAYS = {
    "words/last": np.arange(3, dtype=np.int32),
    "words/ids": np.array([1, 2**62, 2**63 - 1]),
    "words/rows": np.arange(6, dtype=np.float32),
    "größe/ids": np.zeros(0, np.int64),
}


def pieces(arrays=ARRAYS):
    for name, array in arrays.items():
        yield name, array.dtype, array.size, iter(np.array_split(array, 2))


@pytest.fixture
def written(tmp_path):
    return write_table_file(f"{tmp_path}/rows.safetensors", pieces())


def assert_arrays(found, expected=ARRAYS):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype and found[name].tolist() == array.tolist()


def test_readers_of_safetensors_have_the_arrays(written):
    content = Path(written.path).read_bytes()
    assert_arrays(safetensors.numpy.load(content))
    assert written.bytes == len(content)


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["mapped", "read"])
def test_a_file_is_opened(small, written, monkeypatch):
    monkeypatch.setattr(table_file, "SMALL", small)
    monkeypatch.setattr(np, "memmap", partial(only_to_read, np.memmap))
    arrays = written.open()
    assert_arrays(arrays)
    rows = arrays["words/rows"]
    assert not rows.flags.writeable and rows.flags.aligned and type(rows) is np.ndarray


def only_to_read(memmap, *arguments, mode):
    assert mode == "r"  # the file may belong to another user
    return memmap(*arguments, mode=mode)


def test_the_header_alone_tells_the_lengths(written):
    lengths = written.lengths()
    assert {name: (of.dtype, of.shape) for name, of in lengths.items()} == {
        name: (of.dtype, of.shape) for name, of in ARRAYS.items()
    }


def test_a_copy_of_the_object_is_the_object(written):
    assert copy.deepcopy([written])[0] is written
    assert pickle.loads(pickle.dumps(written)) is written
    for same in (written.path, f"file:{written.path}", f"hdfs://nn:8020/{written.path}"):
        assert table_file.known_among([same]) == {same}
    assert not table_file.known_among([f"{written.path}.other"])


def test_what_safetensors_writes_is_read(tmp_path):
    safetensors.numpy.save_file(ARRAYS, tmp_path / "file", metadata={"format": "np"})
    content = np.frombuffer((tmp_path / "file").read_bytes(), np.uint8)
    assert_arrays(map_arrays("file", content))


def test_files_of_other_systems_are_copied_to_this_host(written, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "copies"))
    import fsspec

    with fsspec.open("memory://rows/one", "wb") as file:
        file.write(Path(written.path).read_bytes())
    far = TableFile("memory://rows/one", written.bytes, written.sha256)
    assert_arrays(far.open())
    assert Path(host_copy.place_of("memory://rows/one", written.sha256)[1]).exists()
    other = TableFile("memory://rows/one", written.bytes, "0" * 64)
    with pytest.raises(CheckpointError, match="rows/one.*damaged, sha256 is"):
        other.open()


def test_a_copy_has_the_bytes(written, tmp_path, monkeypatch):
    monkeypatch.setattr(table_file, "CHUNK", 7)
    written.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == Path(written.path).read_bytes()
    written.verify(tmp_path / "copy")
    written.verify()
    (tmp_path / "copy").write_bytes(b"x" * written.bytes)
    with pytest.raises(CheckpointError, match="damaged, sha256 is"):
        written.verify(tmp_path / "copy")
    with pytest.raises(CheckpointError, match="cannot be read.*none"):
        written.verify(tmp_path / "none")


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "gone": (Path.unlink, "the rows cannot be read.*rows.safetensors"),
    "cut": (
        lambda path: path.write_bytes(path.read_bytes()[:-4]),
        "damaged, bytes is 360, but 364",
    ),
    "a bit": (flip, "damaged, sha256 is"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_name(damage, written, tmp_path):
    harm, text = DAMAGES[damage]
    harm(Path(written.path))
    with pytest.raises(CheckpointError, match=f"rows.safetensors.*{text}"):
        written.open()


def test_a_file_that_was_replaced_after_it_was_opened_is_refused(written):
    written.open()
    flip(Path(written.path))
    with pytest.raises(CheckpointError, match="damaged, sha256 is"):
        written.open()


def test_only_the_newest_files_are_remembered_as_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(table_file, "VERIFIED", {})
    monkeypatch.setattr(table_file, "MOST_VERIFIED", 3)
    files = [write_table_file(f"{tmp_path}/{name}", pieces()) for name in range(5)]
    for file in files:
        file.open()
    assert [key[1] for key in table_file.VERIFIED] == [file.path for file in files[2:]]
    assert_arrays(files[0].open())


@pytest.mark.parametrize("ids", [[2, 1], [1, 1]], ids=["out of order", "twice"])
def test_ids_must_be_in_order_each_once(ids, tmp_path):
    file = write_table_file(f"{tmp_path}/odd", pieces({"words/ids": np.array(ids)}))
    for _ in range(2):
        with pytest.raises(CheckpointError, match="odd: must have words/ids in order, each once"):
            file.open()


def with_header(value, length=None):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    length = len(text) if length is None else length
    return length.to_bytes(8, "little") + text + bytes(16)


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
FOREIGN = {
    "nothing": b"",
    "short": b"\1\0",
    "a header longer than the file": with_header({}, 1000),
    "a huge header": with_header({}, 2**62),
    "no JSON": with_header(b"{"),
    "nested": with_header(b"[" * 100_000),
    "a list": with_header([1]),
    "an entry of text": with_header({"a": "text"}),
    "another type": with_header({"a": ENTRY | {"dtype": "F64"}}),
    "two axes": with_header({"a": ENTRY | {"shape": [1, 2]}}),
    "a length that is none": with_header({"a": ENTRY | {"shape": [3]}}),
    "behind the end": with_header({"a": ENTRY | {"data_offsets": [12, 20]}}),
    "before the start": with_header({"a": ENTRY | {"data_offsets": [-8, 0]}}),
    "a length that is no integer": with_header({"a": ENTRY | {"shape": [2.0]}}),
    "offsets of text": with_header({"a": ENTRY | {"data_offsets": ["0", "8"]}}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_another_file_is_refused(name):
    with pytest.raises(CheckpointError, match="odd: must be a safetensors file of rows"):
        map_arrays("odd", np.frombuffer(FOREIGN[name], np.uint8))
