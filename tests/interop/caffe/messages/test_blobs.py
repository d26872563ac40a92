"""Blobs: read bit for bit in every form, and refused if values and shape do not match."""

import numpy as np
import pytest

from sparkdl.errors import DataError
from sparkdl.interop.caffe.messages.blobs import (
    array_of,
    blob_of,
    read_blob,
    read_mean,
    write_blob,
    write_mean,
)
from sparkdl.interop.caffe.messages.schema import RAW
from tests.interop.caffe import wire

SIX = np.arange(6, dtype=np.float32)
# (bytes in the file, array)
FORMS = {
    "shape and data": (wire.shape(2, 3) + wire.field(5, wire.floats(*SIX)), SIX.reshape(2, 3)),
    "four sizes": (
        wire.legacy(1, 1, 2, 3) + wire.field(5, wire.floats(*SIX)),
        SIX.reshape(1, 1, 2, 3),
    ),
    "doubles": (
        wire.shape(6) + wire.field(8, wire.doubles(*SIX)),
        SIX.astype(np.float64),
    ),
    "data in two parts": (
        wire.field(5, wire.floats(*SIX[:2])) + wire.shape(6) + wire.field(5, wire.floats(*SIX[2:])),
        SIX,
    ),
    "data one by one": (wire.shape(6) + b"".join(wire.single(5, x) for x in SIX), SIX),
    "both": (
        wire.shape(6) + wire.field(5, wire.floats(*SIX[:5])) + wire.single(5, 5.0),
        SIX,
    ),
    "one number": (wire.field(7, b"") + wire.field(5, wire.floats(1.5)), np.float32(1.5)),
    "no shape at all": (wire.field(5, wire.floats(1.5)), np.float32(1.5)),
    "gradients beside": (
        wire.shape(1) + wire.field(5, wire.floats(2)) + wire.field(6, wire.floats(3)),
        np.float32([2]),
    ),
    "none": (wire.shape(0, 3), np.zeros((0, 3), np.float32)),
}
BAD = {
    "too few": wire.shape(7) + wire.field(5, wire.floats(*SIX)),
    "too many": wire.shape(5) + wire.field(5, wire.floats(*SIX)),
    "none of many": wire.shape(10**6, 10**6, 10**6),
    "many by an overflow": wire.shape(2**62, 4) + wire.field(5, wire.floats(1)),
    "nothing, but of many": wire.shape(0, 2**31, 2**31, 2**31),
    "negative": wire.shape(-2, -3) + wire.field(5, wire.floats(*SIX)),
    "part of a number": wire.shape(2) + wire.field(5, wire.floats(1, 2)[:-1]),
    "four sizes that are none": wire.legacy(0, 1, 2, 3) + wire.field(5, wire.floats(*SIX)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read(name):
    content, wanted = FORMS[name]
    found = array_of(RAW["BlobProto"].FromString(content), "here")
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name):
    with pytest.raises(DataError, match="here: .* blob"):
        array_of(RAW["BlobProto"].FromString(BAD[name]), "here")


def test_it_is_written_as_caffe_writes_it():
    found = blob_of(SIX.reshape(2, 3)).SerializeToString()
    assert found == wire.field(5, wire.floats(*SIX)) + wire.shape(2, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_bit_survives(tmp_path, dtype):
    bits = np.random.default_rng(1).integers(0, 2**63, 100, np.uint64)
    array = bits.view(dtype).reshape(4, -1)  # NaNs among them
    write_blob(tmp_path / "blob", array)
    assert read_blob(tmp_path / "blob").tobytes() == array.tobytes()


def test_other_dtypes_become_float32():
    found = array_of(blob_of(np.arange(3)), "here")
    assert (found.dtype, found.tolist()) == (np.float32, [0, 1, 2])


def test_a_mean_is_written_as_caffe_writes_it(tmp_path):
    write_mean(tmp_path / "mean.binaryproto", SIX.reshape(1, 2, 3))
    wanted = wire.legacy(1, 1, 2, 3) + wire.field(5, wire.floats(*SIX))
    assert (tmp_path / "mean.binaryproto").read_bytes() == wanted
    assert np.array_equal(read_mean(tmp_path / "mean.binaryproto"), SIX.reshape(1, 2, 3))


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (1, 2, 3)])
def test_a_mean_may_say_its_shape(tmp_path, shape):
    write_blob(tmp_path / "mean", SIX.reshape(shape))
    assert read_mean(tmp_path / "mean").shape == (1, 2, 3)


def test_a_mean_of_another_shape_is_refused(tmp_path):
    write_blob(tmp_path / "mean", SIX)
    with pytest.raises(DataError, match=r"mean: .* \(channels, height, width\), got \(6,\)"):
        read_mean(tmp_path / "mean")


@pytest.mark.parametrize("content", [b"", b"not a blob", b"\x00" * 50, b"\x2a\xff\xff\xff\xff\x07"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "mean").write_bytes(content)
    with pytest.raises(DataError, match="mean: .*BlobProto"):
        read_mean(tmp_path / "mean")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="mean: there is no such file"):
        read_mean(tmp_path / "mean")
