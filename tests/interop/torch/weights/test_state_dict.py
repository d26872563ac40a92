"""Weight files read without torch: files of torch 2 and safetensors, and malicious files."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.torch import read_torch
from sparkdl.interop.torch.weights.state_dict import read_state_dict
from tests.interop.torch.weights.modules import PERCEPTRON

SAVED = Path(__file__).parent / "models/perceptron.pt"  # by torch 2; the .npz has the same arrays


@pytest.fixture
def known():
    with np.load(SAVED.with_suffix(".npz")) as file:
        return dict(file)


def test_it_predicts_what_torch_does(known):
    network = read_torch(str(SAVED), PERCEPTRON).network
    np.testing.assert_allclose(network.predict(known["x"]), known["y"], atol=1e-6)


def test_safetensors_are_the_same(known, tmp_path):
    weights = {name: x for name, x in known.items() if "." in name}
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors.numpy.save(weights, {"format": "pt"}))
    ours, _ = read_state_dict(path)
    assert ours.keys() == weights.keys()
    for name, x in weights.items():
        np.testing.assert_array_equal(ours[name], x)
    with pytest.raises(ConfigError, match="by must be 'name' for a safetensors file"):
        read_torch(path, PERCEPTRON)
    network = read_torch(path, PERCEPTRON, names={"dense_1": "0", "output_1": "2"})
    np.testing.assert_allclose(network.network.predict(known["x"]), known["y"], atol=1e-6)


@pytest.mark.parametrize("kind", ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_types_of_safetensors(kind, tmp_path):
    x = np.arange(6).reshape(2, 3).astype(kind)
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"x": x, "none": x[:0]}))
    found, ordered = read_state_dict(tmp_path / "a")
    assert not ordered
    assert found["x"].dtype == x.dtype and found["none"].shape == (0, 3)
    np.testing.assert_array_equal(found["x"], x)


def with_pickle(content, folder):
    """Returns the path of a copy of the saved file with another pickle."""
    path = folder / "a.pt"
    with zipfile.ZipFile(SAVED) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name.endswith("data.pkl") else old.read(name))
    return path


class Harm:
    def __reduce__(self):
        return Path.touch, (Path("harm"),)


def test_no_code_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = with_pickle(pickle.dumps({"a": Harm()}), tmp_path)
    with pytest.raises(UnsupportedError, match="holds an object of pathlib.*, which is not read"):
        read_state_dict(path)
    assert not Path("harm").exists()


def changed(old, new):
    with zipfile.ZipFile(SAVED) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("data.pkl")]
        content = archive.read(name)
    assert old in content
    return content.replace(old, new)


def doubled(levels):
    """Returns a pickle that has nested pairs, doubling at each level, in place of a name."""
    pairs = b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(levels))
    return b"\x80\x04)" + pairs + b"\x94\x8c\x01a\x93."


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is damaged"),
        (doubled(60), "a name"),
        (b"\x80\x04K\x01\x8c\x01a\x93.", "a name"),
        (b"\x80\x02c" + b"a" * 9999 + b"\nb\n.", r"an object of aaaaa.{,100}, which is not read"),
        (b"\x80\x02}", "is damaged"),
        (b"\x80\x02(.", "must hold tensors alone"),
        (b"\x80\x02}]K\x01s.", "a name"),
        (b"\x80\x02K\x01K\x02R.", "a call"),
        (changed(b"K\x05K\x04\x86", b"K\x06K\x04\x86"), "must lie within its 20 numbers"),
        (changed(b"K\x04K\x01\x86", b"K\x00K\x00\x86"), None),  # reads numbers twice, but in bounds
        (changed(b"K\x05K\x04\x86", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"), "must lie within"),
        (changed(b"FloatStorage", b"DoubleStorage"), "must have 160 bytes"),
        (changed(b"FloatStorage", b"OtherStorage"), "torch.OtherStorage, which is not read"),
    ],
)
def test_damaged_pickles_are_named_errors(content, says, tmp_path):
    path = with_pickle(content, tmp_path)
    if says is None:
        (ours, _), (whole, _) = read_state_dict(path), read_state_dict(SAVED)
        assert (ours["0.weight"] == whole["0.weight"][0, 0]).all()
        return
    with pytest.raises((DataError, ConfigError, UnsupportedError), match=says):
        read_state_dict(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"abc", "no safetensors file"),
        (b"\x80\x02.", "before 1.6"),
        ((5).to_bytes(8, "little") + b"hello", "no JSON"),
        (b"PK\x03\x04", "cannot be read as a zip"),
    ],
)
def test_what_is_no_file_of_weights_is_refused(content, says, tmp_path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises((DataError, UnsupportedError), match=says):
        read_state_dict(tmp_path / "a")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"[0,16]", b"[0,17]", "one behind the other"),
        (b"[4]", b"[9]", "must not have 16 bytes"),
        (b'"F32"', b'"X32"', "of type X32 is not supported"),
        (b"[4]", b"4  ", "its header is damaged"),
        (b"[0,16]", b"[]    ", "its header is damaged"),
        (b"[4]", b"[" + b"1," * 64 + b"4]", "a must have at most 64 axes"),
        (b"[4]", b"[" + b"9" * 4000 + b"]", "each below 2.62, got .a number of 4000 digits"),
        (b"[4]", b"[" + (b"9" * 4300 + b",") * 2000 + b"4]", "a must have at most 64 axes"),
        (b"[4]", b"[4611686018427387904]", "each below 2.62, got .4611686018427387904"),
        (b"[4]", b"[0,4611686018427387903,9]", "must not have 16 bytes"),
    ],
    ids=range(10),
)
def test_headers_that_lie_are_refused(old, new, says, tmp_path):
    content = safetensors.numpy.save({"a": np.ones(4, np.float32)})
    length, header = int.from_bytes(content[:8], "little"), content[8:].split(b"}}")[0] + b"}}"
    assert old in header
    changed, body = header.replace(old, new), content[8 + length :]
    (tmp_path / "a").write_bytes(len(changed).to_bytes(8, "little") + changed + body)
    with pytest.raises((DataError, UnsupportedError), match=says):
        read_state_dict(tmp_path / "a")


def test_a_zip_that_is_not_of_torch_is_refused(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a", "b")
    (tmp_path / "a.pt").write_bytes(content.getvalue())
    with pytest.raises(DataError, match=r"without data\.pkl"):
        read_state_dict(tmp_path / "a.pt")
