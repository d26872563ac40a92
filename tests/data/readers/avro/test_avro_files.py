"""Avro: codecs, fields of every kind, damage. The rest is in test_source.py."""

import io

import fastavro
import numpy as np
import pytest

from sparkdl.data import AvroFiles, Batch, Parquet, write_parquet
from sparkdl.data.batches.columns import feature_column
from sparkdl.data.readers.avro.schemas import float_type
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError
from tests.data.sources import read

X = np.random.default_rng(6).integers(0, 256, (90, 3, 4, 5)).astype(np.uint8)
FIXED = {"type": "fixed", "name": "sixty", "size": 60}
LISTS = {"type": "array", "items": {"type": "array", "items": "double"}}


def write(path, kind, values, label="long", labels=None, **options):
    fields = [{"name": "features", "type": kind}, {"name": "label", "type": label}]
    schema = {"type": "record", "name": "example", "fields": fields}
    labels = range(len(values)) if labels is None else labels
    found = [{"features": value, "label": y} for value, y in zip(values, labels)]
    file = io.BytesIO()
    fastavro.writer(file, schema, found, **options)
    path.write_bytes(file.getvalue())
    return str(path)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_every_codec_in_any_splits(tmp_path, codec):
    values = [x.tobytes() for x in X]
    path = write(tmp_path / "a", "bytes", values, codec=codec, sync_interval=500)
    for size in (37, 1000, None):
        batch = read(AvroFiles(path, bytes_per_split=size))
        np.testing.assert_array_equal(batch.features, X.reshape(90, 60))
        np.testing.assert_array_equal(batch.labels, np.arange(90))


FIELDS = [
    (FIXED, [x.tobytes() for x in X], X.reshape(90, 60)),
    (["null", "bytes"], [x.tobytes() for x in X], X.reshape(90, 60)),
    (LISTS, X[:, 0].tolist(), X[:, 0].astype(np.float64)),
    ({"type": "array", "items": ["null", "int"]}, X[:, 0, 0].tolist(), X[:, 0, 0].astype(int)),
    ("float", X[:, 0, 0, 0].tolist(), X[:, 0, 0, :1].astype(np.float32)),
]


@pytest.mark.parametrize("kind, values, wanted", FIELDS, ids=[str(kind) for kind, *_ in FIELDS])
def test_fields_of_every_kind(tmp_path, kind, values, wanted):
    path = write(tmp_path / "a", kind, values, ["null", "boolean"], [True] * 90)
    batch = read(AvroFiles(path))
    np.testing.assert_array_equal(batch.features, wanted)
    assert batch.features.dtype == wanted.dtype
    assert batch.labels.all()
    assert list(read(AvroFiles(path, label=None)).columns) == ["features"]


def test_doubles_stay_as_they_are(tmp_path):
    x, y = [[0.1, 1700000001.0], [-1e39, 2.0]], [1700000001.0, 1e39]
    kind = ["null", {"type": "array", "items": ["null", "double"]}]
    batch = read(AvroFiles(write(tmp_path / "a", kind, x, {"type": "double"}, y)))
    assert batch.features.tolist() == x
    assert batch.labels.tolist() == y
    columns = batch.columns | {"features": np.ones((2, 2))}
    write_parquet(tmp_path / "b", [Batch(columns=columns, ids=batch.ids)])
    assert read(Parquet(str(tmp_path / "b"))).labels.tolist() == y


def test_a_network_gets_the_same_numbers_of_doubles_as_of_floats(tmp_path):
    x = np.random.default_rng(3).normal(size=(20, 4)) * 1e9
    kinds = [{"type": "array", "items": kind} for kind in ("float", "double")]
    single, double = (read(AvroFiles(write(tmp_path / "a", kind, x.tolist()))) for kind in kinds)
    assert single.features.dtype == np.float32
    found = feature_column(double.features, (4,))
    np.testing.assert_array_equal(found, x.astype(np.float32), strict=True)
    np.testing.assert_array_equal(found, feature_column(single.features, (4,)), strict=True)


FLOAT_TYPES = [
    (["null", "float"], np.float32),
    ({"type": "array", "items": ["null", {"type": "float"}]}, np.float32),
    ({"type": {"type": "double"}}, np.float64),
    (["float", "double"], np.float64),
    (["float", "long"], np.float64),
    ([{"type": "array", "items": {"type": "array", "items": "double"}}, FIXED], np.float64),
]


@pytest.mark.parametrize("kind, wanted", FLOAT_TYPES, ids=[str(kind) for kind, _ in FLOAT_TYPES])
def test_the_schema_says_the_dtype(kind, wanted):
    assert float_type(kind) is wanted


def test_images_are_decoded_and_resized(tmp_path):
    path = write(tmp_path / "a", "bytes", [encode_image(x) for x in X])
    np.testing.assert_array_equal(read(AvroFiles(path, content="images")).features, X)
    bgr = read(AvroFiles(path, content="images", channels="BGR", size=(2, 3)))
    assert bgr.features.shape == (90, 3, 2, 3)


WRONG = [
    ("string", ["ab"], {}, "record 0: field 'features' must be bytes, or hold numbers, got 'ab'"),
    (["int", "null"], [1, None], {}, "record 1: field 'features' must be .*, got None"),
    (LISTS, [[[1], [2, 3]]], {}, "record 0: field 'features' must be .*, got \\[\\["),
    ("bytes", [b"ab", b"abc"], {}, r"record 1: features must have the shape \(2,\) as before"),
    ("bytes", [b"ab"], {"content": "images"}, "record 0: must be an image"),
    ("string", ["ab"], {"content": "images"}, "record 0: field 'features' must be bytes, got 'ab'"),
]


@pytest.mark.parametrize("kind, values, options, message", WRONG)
def test_a_record_that_cannot_be_used_is_named(tmp_path, kind, values, options, message):
    path = write(tmp_path / "a", kind, values)
    with pytest.raises(DataError, match=f"^{path}, records of bytes 0 to .*, {message}"):
        read(AvroFiles(path, **options))


def test_a_field_that_is_not_there_is_named(tmp_path):
    path = write(tmp_path / "a", "int", [1])
    with pytest.raises(DataError, match=f"^{path}: has no column 'feature'; .*did you mean 'feat"):
        read(AvroFiles(path, features="feature"))
    with open(path, "wb") as file:
        fastavro.writer(file, "int", [1, 2])
    with pytest.raises(DataError, match=f"^{path}: must hold records of named fields, got 'int'"):
        read(AvroFiles(path))


@pytest.mark.parametrize("name", ["features", "label"])
def test_a_field_that_is_there_twice_is_refused(tmp_path, name):
    fields = [{"name": one, "type": "int"} for one in ("features", "label", name)]
    with open(tmp_path / "a", "wb") as file:
        schema = {"type": "record", "name": "example", "fields": fields}
        fastavro.writer(file, schema, [{"features": 1, "label": 2}])
    with pytest.raises(DataError, match=f"a: has 2 columns '{name}'; rename all but one$"):
        read(AvroFiles(str(tmp_path / "a")))


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_damage_never_ends_in_anything_but_our_error(tmp_path, codec):
    """Single bytes of the file are changed; it is then read or refused."""
    path = tmp_path / "a"
    write(path, {"type": "array", "items": "int"}, [[1, 2, 3]] * 40, codec=codec, sync_interval=60)
    content, refused = path.read_bytes(), 0
    places = np.random.default_rng(0).integers(4, len(content), 150)
    for place in places:
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x91]) + content[place + 1 :])
        try:
            read(AvroFiles(str(path)))
        except DataError as error:
            assert str(error).startswith(str(path))
            refused += 1
    assert refused > 50


def test_a_cut_within_a_count_is_seen(tmp_path):
    path = write(tmp_path / "a", "int", range(1000), sync_interval=1)
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content + b"\x80")
    with pytest.raises(DataError, match="after 1000 records: the file is cut short: 1 bytes must"):
        read(AvroFiles(path))


REFUSED = [
    ({"content": "image"}, "AvroFiles.content must be 'numbers' or 'images', got"),
    (
        {"channels": "L", "content": "images"},
        "AvroFiles.channels must be 'RGB', 'BGR' or 'gray'",
    ),
    ({"size": 3}, "AvroFiles.size must be None where content is numbers"),
    ({"bytes_per_split": 0}, "AvroFiles.bytes_per_split must be an integer >= 1"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        AvroFiles("a", **options)
