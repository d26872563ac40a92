"""DataFrames: columns of every kind, stored as Parquet and as JSON."""

import base64
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sparkdl.data.readers.tables.dataframes import DataFrames
from sparkdl.data.readers.tables.frame_columns import Numbers, Pictures
from sparkdl.errors import ConfigError, DataError
from tests.data.sources import read

RNG = np.random.default_rng(5)
IMAGES = RNG.integers(0, 256, (5, 3, 4, 6)).astype(np.uint8)  # BGR
BESIDE = {what: what for what in ("channels", "height", "width", "encoded")}


def png(image):
    """Returns the bytes of an image file of a BGR or gray image."""
    content = io.BytesIO()
    array = image[::-1].transpose(1, 2, 0) if len(image) == 3 else image[0]
    Image.fromarray(np.ascontiguousarray(array)).save(content, "PNG")
    return content.getvalue()


ROWS = [
    {
        "id": f"record {i}",
        "raw": image.tobytes(),
        "pixels": image.ravel().tolist(),
        "png": png(image),
        "sized": {"id": i, "height": 4, "width": 6, "image": png(image)},
        "bytes": [pixel - 256 if pixel > 127 else pixel for pixel in image.ravel().tolist()],
        "label": str(i % 3),
        "words": [i, i + 1, i + 2],
        "weight": i / 4,
    }
    for i, image in enumerate(IMAGES)
]


def as_json(value):
    """Returns a value as Spark's to_json writes it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    return value


def write(folder, rows, kind):
    """Writes the rows of a DataFrame as two files and returns the folder."""
    folder.mkdir(exist_ok=True)
    for part, some in enumerate(filter(None, [rows[:2], rows[2:]])):
        path = folder / f"part-{part}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(some), path)
        else:
            path.write_text("".join(f"{json.dumps(as_json(row))}\n" for row in some))
    return str(folder)


KINDS = {
    "plain images": (Pictures(name="raw", shape=(3, 4, 6), encoded=False), IMAGES),
    "plain images as lists": (Pictures(name="pixels", shape=(3, 4, 6), encoded=False), IMAGES),
    "plain images as lists of Java's bytes": (
        Pictures(name="bytes", shape=(3, 4, 6), encoded=False),
        IMAGES,
    ),
    "encoded images": (Pictures(name="png", shape=(3, 4, 6)), IMAGES),
    "encoded images of any one size": (Pictures(name="png", shape=None), IMAGES),
    "images with their sizes": (Pictures(name="sized", shape=(3, 4, 6)), IMAGES),
    "texts": (Numbers(name="label"), np.arange(5) % 3),
    "lists": (Numbers(name="words"), np.arange(5)[:, None] + np.arange(3)),
    "numbers": (Numbers(name="weight"), np.arange(5) / 4),
}


@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize("name", KINDS)
def test_columns_of_every_kind(tmp_path, name, kind):
    column, wanted = KINDS[name]
    found = read(DataFrames(write(tmp_path, ROWS, kind), columns={"x": column}, format=kind))
    np.testing.assert_array_equal(np.reshape(found.columns["x"], wanted.shape), wanted)
    assert len(set(found.ids.tolist())) == 5
    if name.endswith("images"):
        assert found.columns["x"].dtype == np.uint8


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_several_columns_and_what_records_are_called(tmp_path, kind):
    columns = {"features": KINDS["encoded images"][0], "labels": Numbers(name="label")}
    source = DataFrames(write(tmp_path, ROWS, kind), columns=columns, format=kind)
    assert list(read(source).columns) == ["features", "labels"]
    names = [name for split in source.splits() for name in source.names(split)]
    assert names == [f"record {i}" for i in range(5)]
    unnamed = DataFrames(source.path, columns=columns, format=kind, key="none")
    assert unnamed.names(unnamed.splits()[0]) is None


def test_what_records_say_of_themselves_counts_more(tmp_path):
    small = IMAGES[0][:, :2, :3]
    rows = [
        {"data": IMAGES[0].tobytes(), "encoded": False, "channels": 3, "height": 4, "width": 6},
        {"data": small.tobytes(), "encoded": False, "channels": 3, "height": 2, "width": 3},
        {"data": png(IMAGES[0]), "encoded": True, "channels": 3, "height": 4, "width": 6},
    ]
    column = Pictures(name="data", shape=(3, 4, 6), encoded=False, extra_columns=BESIDE)
    x = read(DataFrames(write(tmp_path, rows, "parquet"), columns={"x": column})).columns["x"]
    np.testing.assert_array_equal(x[0], IMAGES[0])
    np.testing.assert_array_equal(x[2], IMAGES[0])
    assert x[1].shape == (3, 4, 6)  # resized


def test_one_channel_is_gray(tmp_path):
    gray = IMAGES[:, :1]
    rows = [{"data": png(one)} for one in gray]
    column = Pictures(name="data", shape=(1, 4, 6))
    x = read(DataFrames(write(tmp_path, rows, "parquet"), columns={"x": column})).columns["x"]
    np.testing.assert_array_equal(x, gray)


def test_images_of_unknown_sizes_come_in_small_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("sparkdl.data.readers.tables.dataframes.FEW", 2)
    columns = {"x": Pictures(name="png", shape=None)}
    source = DataFrames(write(tmp_path, ROWS, "parquet"), columns=columns)
    batches = [batch for split in source.splits() for batch in source.read(split)]
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert batches[-1].ids.tolist() == [(1 << 40) + 2]


BAD = {
    "no image": ({"png": b"none"}, Pictures(name="png", shape=(3, 4, 6)), "'png' must be an image"),
    "no bytes": (
        {"png": None},
        Pictures(name="png", shape=(3, 4, 6)),
        "an image's bytes, got None",
    ),
    "no base 64": ({"png": "?"}, Pictures(name="png", shape=(3, 4, 6)), "an image's bytes, got '?"),
    "numbers": (
        {"png": [1, 300]},
        Pictures(name="png", shape=(3, 4, 6)),
        r"an image's bytes, got \[1, 300\]",
    ),
    "no number": ({"label": "cat"}, Numbers(name="label"), "'label' must hold a number, got 'cat'"),
    "a name": ({"label": "3_7"}, Numbers(name="label"), "'label' must hold a number, got '3_7'"),
    "too few bytes": (
        {"raw": b"abc", "encoded": False},
        Pictures(name="raw", shape=(3, 4, 6), extra_columns=BESIDE),
        r"must have 72 bytes, as its shape \(3, 4, 6\) says, got 3",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_record_that_cannot_be_read_is_named(tmp_path, name):
    row, column, message = BAD[name]
    source = DataFrames(write(tmp_path, [row], "parquet"), columns={"x": column})
    with pytest.raises(DataError, match=f"part-0.parquet, row group 0, record 0: .*{message}"):
        read(source)


def test_numbers_in_texts_may_be_categories_as_pandas_writes_them(tmp_path):
    """They were refused as texts, which alone are read."""
    texts = pa.array(["1.5", "2", "1.5"]).dictionary_encode()
    pq.write_table(pa.table({"x": texts}), tmp_path / "a.parquet")
    x = read(DataFrames(str(tmp_path), columns={"x": Numbers(name="x")})).columns["x"]
    assert x.tolist() == [1.5, 2.0, 1.5]


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_column_that_is_not_there_is_named(tmp_path, kind):
    columns = {"x": Numbers(name="labels")}
    source = DataFrames(write(tmp_path, ROWS, kind), columns=columns, format=kind)
    with pytest.raises(DataError, match="has no column 'labels'.*did you mean 'label'"):
        read(source)


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_uneven_lists_are_refused_with_the_cure(tmp_path, kind):
    folder = write(tmp_path / kind, [{"id": "a", "x": [1, 2]}, {"id": "b", "x": [1]}], kind)
    source = DataFrames(str(folder), columns={"features": Numbers(name="x")}, format=kind)
    message = "record 1: column 'x' must have 2 numbers as in the records before, got 1; pad them"
    with pytest.raises(DataError, match=message):
        read(source)


def test_what_is_no_json_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}\n{"a"\n')
    source = DataFrames(str(tmp_path), columns={"x": Numbers(name="a")}, format="json")
    with pytest.raises(DataError, match="a.json, lines of bytes 0 to 14: JSON parse error"):
        read(source)


def test_a_name_that_is_twice_in_an_object_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "a": 2}\n')
    source = DataFrames(str(tmp_path), columns={"x": Numbers(name="a")}, format="json")
    with pytest.raises(DataError, match="a.json, lines of bytes 0 to 17: .*specified twice"):
        read(source)


def test_lines_are_cut_into_splits(tmp_path, monkeypatch):
    monkeypatch.setattr("sparkdl.data.readers.core.file_ranges.SMALLEST_RANGE", 10)
    rows = [{"a": i} for i in range(30)]
    source = DataFrames(
        write(tmp_path, rows, "json"), columns={"x": Numbers(name="a")}, format="json"
    )
    assert len(source.splits()) > 20
    assert read(source).columns["x"].tolist() == list(range(30))


# What Spark 3.5's write.json writes for dense vectors, sparse ones, and both.
VECTORS = {
    "dense": (
        '{"f":{"type":1,"values":[1.0,2.0,3.0]},"y":0}\n{"f":{"type":1,"values":[4.0,5.0,6.0]}}\n',
        [[1, 2, 3], [4, 5, 6]],
    ),
    "zeros": (
        '{"f":{"type":0,"size":3,"indices":[],"values":[]}}\n'
        '{"f":{"type":1,"values":[4.0,5.0,6.0]}}\n',
        [[0, 0, 0], [4, 5, 6]],
    ),
    "mixed": (
        '{"f":{"type":1,"values":[1.0,2.0,3.0]}}\n'
        '{"f":{"type":0,"size":3,"indices":[1],"values":[9.0]}}\n',
        [[1, 2, 3], [0, 9, 0]],
    ),
}


@pytest.mark.parametrize("step", [10, 2**20])
@pytest.mark.parametrize("name", VECTORS)
def test_json_of_vectors_wherever_it_is_cut(tmp_path, monkeypatch, name, step):
    monkeypatch.setattr("sparkdl.data.readers.core.file_ranges.SMALLEST_RANGE", step)
    text, wanted = VECTORS[name]
    (tmp_path / "a.json").write_text(text)
    found = read(DataFrames(str(tmp_path), columns={"x": Numbers(name="f")}, format="json"))
    np.testing.assert_array_equal(found.columns["x"], wanted)


def test_other_formats_are_refused():
    with pytest.raises(ConfigError, match="format must be 'parquet' or 'json', got 'orc'"):
        DataFrames("here", columns={"x": Numbers(name="a")}, format="orc")


def test_plain_images_need_a_shape():
    with pytest.raises(ConfigError, match="Pictures.shape must be given for images that are not"):
        Pictures(name="raw", shape=None, encoded=False)
