"""TFRecords: selected features, compressed files, checksums. The rest is in test_source.py."""

import gzip
import struct

import numpy as np
import pytest

from sparkdl.data import TFRecords
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError
from tests.data.examples import (
    example,
    example_of,
    masked_crc,
    of_bytes,
    of_floats,
    of_ints,
    tfrecord,
)
from tests.data.sources import read

X = np.random.default_rng(6).integers(0, 256, (5, 3, 4, 5)).astype(np.uint8)


def write(path, examples):
    path.write_bytes(b"".join(map(tfrecord, examples)))
    return str(path)


def test_the_checksum_is_that_of_the_published_vectors():
    crc = (masked_crc(bytes(32)) - 0xA282EAD8) & 0xFFFFFFFF
    assert (crc >> 17 | crc << 15) & 0xFFFFFFFF == 0x8A9136AA  # RFC 3720, B.4: 32 bytes of zeros


FEATURES = [
    (lambda x: of_bytes(bytes(x.tolist())), np.uint8),
    (of_floats, np.float32),
    (lambda x: of_floats(x, packed=False), np.float32),
    (of_ints, np.int64),
    (lambda x: of_ints(x, packed=False), np.int64),
]
ROWS = np.array([[1, 200], [3, 4]])


@pytest.mark.parametrize("write_feature, dtype", FEATURES)
def test_features_of_every_kind(tmp_path, write_feature, dtype):
    examples = [example_of(a=write_feature(row), b=write_feature(row[:1])) for row in ROWS]
    path = write(tmp_path / "a", examples)
    batch = read(TFRecords(path, features="a", label="b"))
    np.testing.assert_array_equal(batch.features, ROWS)
    np.testing.assert_array_equal(batch.labels, ROWS[:, 0])
    assert batch.features.dtype == dtype
    np.testing.assert_array_equal(read(TFRecords(path, features="b", label="a")).labels, ROWS)
    assert list(read(TFRecords(path, features="a", label=None)).columns) == ["features"]


def test_negative_integers_come_back(tmp_path):
    path = write(tmp_path / "a", [example_of(a=of_ints([-3]), b=of_ints([-(2**63)]))])
    batch = read(TFRecords(path, features="a", label="b"))
    assert (batch.features[0, 0], batch.labels[0]) == (-3, -(2**63))


def test_images_are_decoded_and_resized(tmp_path):
    examples = [example_of(image=of_bytes(encode_image(x)), label=of_ints([3])) for x in X]
    path = write(tmp_path / "a", examples)
    options = {"features": "image", "content": "images"}
    np.testing.assert_array_equal(read(TFRecords(path, **options)).features, X)
    bgr = read(TFRecords(path, channels="BGR", **options)).features
    np.testing.assert_array_equal(bgr, X[:, ::-1])
    assert read(TFRecords(path, size=(2, 3), **options)).features.shape == (5, 3, 2, 3)


def test_gzipped_files_are_read(tmp_path):
    path = write(tmp_path / "a.gz", [example(x, 1) for x in X])
    (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "a.gz").read_bytes()))
    np.testing.assert_array_equal(read(TFRecords(path)).features, X.reshape(5, 60))
    content = (tmp_path / "a.gz").read_bytes()
    (tmp_path / "a.gz").write_bytes(content[:-20])
    with pytest.raises(DataError, match=f"^{path}, after . records: the file cannot be read: "):
        read(TFRecords(path))


def test_a_length_may_look_like_gzip(tmp_path):
    def of(size):
        return example_of(a=of_bytes(bytes(size)), b=of_ints([1]))

    size = 0x88B1F - (len(of(500_000)) - 500_000)
    path = write(tmp_path / "a", [of(size)])
    assert (tmp_path / "a").read_bytes().startswith(b"\x1f\x8b\x08")
    assert read(TFRecords(path, features="a", label="b")).features.shape == (1, size)


def flipped(content, at):
    content = bytearray(content)
    content[at] ^= 1
    return bytes(content)


@pytest.mark.parametrize(
    "at, what", [(0, "a length"), (9, "a length"), (20, "a rec"), (-1, "a rec")]
)
def test_a_flipped_bit_is_noticed(tmp_path, at, what):
    path = tmp_path / "a"
    record = tfrecord(example(X[0], 1))
    path.write_bytes(record + flipped(record, at))
    message = f"^{path}, after 1 record: the file is damaged.*: the checksum of {what}.* differs"
    with pytest.raises(DataError, match=message):
        read(TFRecords(str(path)))


def test_a_length_with_its_checksum_beyond_the_end_is_cut_short(tmp_path):
    length = struct.pack("<Q", 2**40)
    (tmp_path / "a").write_bytes(length + struct.pack("<I", masked_crc(length)) + b"abc")
    with pytest.raises(DataError, match="the file is cut short: 1099511627776 bytes must follow"):
        read(TFRecords(f"{tmp_path}/a"))


WRONG = [
    (b"\xff", {}, "must be an Example, got"),
    (example_of(feature=of_ints([1])), {}, "has no feature 'features'; .*did you mean 'feature'"),
    (
        example_of(features=of_bytes(b"a", b"b")),
        {},
        "feature 'features' must be one string of bytes",
    ),
    (
        example_of(features=of_ints([1])),
        {"content": "images"},
        "feature 'features' must be one string",
    ),
    (example_of(features=of_bytes(b"a")), {"content": "images"}, "must be an image"),
    (example(X[0, :2], 1), {}, r"features must have the shape \(60,\) as before, got \(40,\)"),
]


@pytest.mark.parametrize("content, options, message", WRONG)
def test_a_record_that_cannot_be_used_is_named(tmp_path, content, options, message):
    good = encode_image(X[0]) if options else X[0].tobytes()
    first = example_of(features=of_bytes(good), label=of_ints([1]))
    path = write(tmp_path / "a", [first, content])
    with pytest.raises(DataError, match=f"^{path}, record 1: {message}"):
        read(TFRecords(path, **options))


REFUSED = [
    ({"content": "image"}, "TFRecords.content must be 'numbers' or 'images', got"),
    (
        {"channels": "L", "content": "images"},
        "TFRecords.channels must be 'RGB', 'BGR' or 'gray'",
    ),
    ({"size": 3}, "TFRecords.size must be None where content is numbers"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TFRecords("a", **options)
