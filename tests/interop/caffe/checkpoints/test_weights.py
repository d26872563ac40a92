"""Files of weights: read in every version and both formats, written bit for bit, or refused."""

import io
from unittest.mock import MagicMock

import cv2
import h5py
import numpy as np
import pytest
from google.protobuf.message import EncodeError

from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.checkpoints.hdf5 import weights_to_hdf5
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import RAW, LayerParameter, NetParameter
from tests.interop.caffe import wire

FORMATS = ["net.caffemodel", "net.caffemodel.h5"]
BLOB = wire.shape(2) + wire.field(5, wire.floats(1, 2))
# contents of files with the weights [1, 2] of layer "one"
VERSIONS = {
    "1.0": wire.field(100, wire.field(1, "one") + wire.field(2, "Bias") + wire.field(7, BLOB)),
    "V1": wire.field(2, wire.field(4, "one") + wire.field(5, 14) + wire.field(6, BLOB)),
    "V0": wire.field(2, wire.field(1, wire.field(1, "one") + wire.field(50, BLOB))),
    "fields that nobody knows": wire.field(
        100, wire.field(1, "one") + wire.field(7, BLOB) + wire.field(9999, "new")
    ),
    "layers without weights": wire.field(100, wire.field(1, "none"))
    + wire.field(100, wire.field(1, "one") + wire.field(7, BLOB))
    + wire.field(100, wire.field(1, "none")),
}


def some():
    draw = np.random.default_rng(1).standard_normal
    return {
        "conv1/7x7_s2": [draw((4, 3, 7, 7)).astype("f"), draw(4).astype("f")],
        "double": [draw((2, 3))],
        "shared": [np.array(0.25, "f")],
    }


def same(one, two):
    return one.keys() == two.keys() and all(
        (x.shape, x.dtype, x.tobytes()) == (y.shape, y.dtype, y.tobytes())
        for name in one
        for x, y in zip(one[name], two[name], strict=True)
    )


@pytest.mark.parametrize("name", VERSIONS)
def test_a_version_is_read(tmp_path, name):
    (tmp_path / "net").write_bytes(VERSIONS[name])
    found = read_weights(tmp_path / "net")
    assert {name: [x.tolist() for x in arrays] for name, arrays in found.items()} == {
        "one": [[1, 2]]
    }


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_survives(tmp_path, name):
    write_weights(f"{tmp_path}/{name}", some())
    assert same(read_weights(f"file://{tmp_path}/{name}"), some())


def test_the_content_decides_not_the_name(tmp_path):
    (tmp_path / "net.caffemodel").write_bytes(weights_to_hdf5(some()))
    assert same(read_weights(tmp_path / "net.caffemodel"), some())


def test_it_is_written_as_caffe_writes_it(tmp_path):
    write_weights(tmp_path / "net", {"one": [np.float32([1, 2])]}, name="n")
    blob = wire.field(5, wire.floats(1, 2)) + wire.shape(2)
    layer = wire.field(1, "one") + wire.field(7, blob)
    assert (tmp_path / "net").read_bytes() == wire.field(1, "n") + wire.field(100, layer)


def test_hdf5_has_caffes_form(tmp_path):
    write_weights(tmp_path / "net.h5", {"one": [np.float32([[1, 2]]), np.float32([3])]})
    with h5py.File(tmp_path / "net.h5") as file:
        assert list(file["data/one"]) == ["0", "1"]
        assert (file["data/one/0"].shape, file["data/one/0"].dtype) == ((1, 2), "<f4")


def test_layers_are_written_with_what_they_say(tmp_path):
    layers = {
        "relu": LayerParameter(name="relu", type="ReLU", bottom=["x"], top=["x"]),
        "one": LayerParameter(name="one", type="Bias"),
    }
    layers["one"].blobs.add(data=[7])  # replaced by the new weights
    write_weights(tmp_path / "net", {"one": [np.ones(2, "f")]}, layers=layers)
    net = NetParameter.FromString((tmp_path / "net").read_bytes())
    assert [(one.name, one.type, len(one.blobs)) for one in net.layer] == [
        ("relu", "ReLU", 0),
        ("one", "Bias", 1),
    ]
    assert list(net.layer[1].blobs[0].data) == [1, 1]


def test_what_was_there_is_replaced(tmp_path):
    for weights in ({"a": [np.ones(5)]}, some()):
        write_weights(tmp_path / "net", weights)
    assert same(read_weights(tmp_path / "net"), some())
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 2, 6, 5] } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 group: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 3 } }
"""


@pytest.mark.parametrize("with_layers", [False, True])
def test_another_reader_computes_with_them(tmp_path, with_layers):
    draw = np.random.default_rng(1).standard_normal
    shapes = {"conv": [(4, 1, 3, 3), (4,)], "ip": [(3, 4 * 3 * 3), (3,)]}
    weights = {name: [draw(s).astype("f") for s in shapes[name]] for name in shapes}
    layers = {layer.name: layer for layer in parse_text(NET, NetParameter).layer}
    write_weights(tmp_path / "net", weights, layers=layers if with_layers else None)
    reader = cv2.dnn.readNetFromCaffe(
        np.frombuffer(NET.encode(), np.uint8), np.fromfile(tmp_path / "net", np.uint8)
    )
    x = draw((1, 2, 6, 5)).astype("f")
    reader.setInput(x)
    assert np.allclose(reader.forward(), forward(x, weights), atol=1e-4)


def forward(x, weights):
    """Returns the output of NET, computed by numpy."""
    (w, b), (w2, b2) = weights["conv"], weights["ip"]
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((1, 4, 3, 3))
    for o, i, j in np.ndindex(4, 3, 3):
        window = x[0, o // 2, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        y[0, o, i, j] = (window * w[o, 0]).sum() + b[o]
    return y.reshape(1, -1) @ w2.T + b2


# Invalid files


def hdf5(change):
    """Returns an HDF5 file with the weights [1, 2] of layer "one" after `change`."""
    content = io.BytesIO(weights_to_hdf5({"one": [np.float32([1, 2])]}))
    with h5py.File(content, "r+") as file:
        change(file)
    return content.getvalue()


def replaced(key, **options):
    def change(file):
        del file["data/one/0"]
        file["data/one"].create_dataset(key, **options)

    return hdf5(change)


def linked(key, target):
    return hdf5(lambda file: file["data/one"].__setitem__(key, target(file)))


def many_paths(file):
    group = file["data"]
    for _ in range(40):
        below = group.create_group("left")
        group["right"] = below
        group = below


HOSTILE = {
    "nothing": (b"", "0 bytes"),
    "text": (b'name: "net"\nlayer { name: "conv" }', "NetParameter of Caffe in binary"),
    "zeros": (bytes(100), "NetParameter of Caffe in binary"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "NetParameter of Caffe in binary"),
    "a net without weights": (wire.field(100, wire.field(1, "one")), "without any"),
    "a length beyond the end": (wire.field(100, VERSIONS["1.0"])[:-1], "truncated"),
    "a blob that lacks numbers": (
        wire.field(100, wire.field(1, "one") + wire.field(7, wire.shape(3))),
        "layer 'one': a blob of shape",
    ),
    "very deep": (b"\x0b" * 10000, "truncated or of another type"),
    "HDF5 of something else": (weights_to_hdf5({}).replace(b"data", b"tada"), "'data'"),
    "HDF5 that counts otherwise": (replaced("7", data=np.ones(2)), "layer 'one': .*numbered"),
    "HDF5 with texts": (replaced("0", data="text"), "layer 'one': .*float32"),
    "HDF5 with whole numbers": (replaced("0", data=[1, 2]), "layer 'one': .*float32"),
    "HDF5 with more than it holds": (
        replaced("0", shape=(10**9, 10**3), dtype="f", chunks=(10, 10)),
        "layer 'one': .*bytes in the file",
    ),
    "HDF5 with numbers elsewhere": (
        replaced("0", shape=(2,), dtype="f", external="other"),
        "layer 'one': .*file itself",
    ),
    "HDF5 with a link to another file": (
        linked("1", lambda file: h5py.ExternalLink("other", "/data")),
        "'1' .*link",
    ),
    "HDF5 with a link": (linked("1", lambda file: h5py.SoftLink("/data/one/0")), "'1' .*link"),
    "HDF5 in itself": (linked("again", lambda file: file["data"]), "two names"),
    "HDF5 with many ways": (hdf5(many_paths), "two names"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_file_of_weights_is_refused(tmp_path, name):
    content, words = HOSTILE[name]
    (tmp_path / "net").write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{tmp_path}/net.*{words}"):
        read_weights(tmp_path / "net")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_cut_anywhere_is_refused(tmp_path, name):
    write_weights(tmp_path / name, {"one": some()["conv1/7x7_s2"]})
    content = (tmp_path / name).read_bytes()
    for end in np.linspace(1, len(content) - 1, 40).astype(int):
        (tmp_path / name).write_bytes(content[:end])
        with pytest.raises(CheckpointError, match=name):
            read_weights(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_an_error_or_other_numbers(tmp_path, name):
    write_weights(tmp_path / name, some())
    content, rng = (tmp_path / name).read_bytes(), np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(content)
        for place in rng.integers(0, len(damaged), 5):
            damaged[place] = rng.integers(256)
        (tmp_path / name).write_bytes(damaged)
        try:
            read_weights(tmp_path / name)
        except CheckpointError as error:
            assert name in str(error)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="net: there is no such file"):
        read_weights(tmp_path / "net")


@pytest.mark.parametrize("layers", [["/one"], ["one//two"], ["./one"], ["one", "one/0"]])
def test_names_that_hdf5_cannot_keep_are_refused(tmp_path, layers):
    with pytest.raises(CheckpointError, match="HDF5 cannot keep"):
        write_weights(tmp_path / "net.h5", {name: [np.ones(2)] for name in layers})


def test_weights_that_are_too_large_for_protobuf_are_refused(tmp_path, monkeypatch):
    """Protobuf ends at 2 GiB; an array of 2 GiB is no quick test."""
    net = MagicMock()
    blobs = net.return_value.layer.add.return_value.blobs
    blobs.extend.side_effect = EncodeError("Failed to serialize proto")
    monkeypatch.setitem(RAW, "NetParameter", net)
    with pytest.raises(CheckpointError, match="a.caffemodel: .* 2 GB; write HDF5, to a path that"):
        write_weights(tmp_path / "a.caffemodel", {"one": [np.zeros(2)]})
    assert not list(tmp_path.iterdir())
