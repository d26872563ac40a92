"""Sources in configurations: the reader they give, its conversion to text, refused options."""

import pickle

import h5py
import numpy as np
import pytest

from sparkdl.commands.options.data_argument import parse_data
from sparkdl.config import text
from sparkdl.data import (
    HDF5,
    LMDB,
    Arrays,
    AvroFiles,
    Characters,
    Cifar,
    Compose,
    Crop,
    Csv,
    DataFrames,
    Digits,
    Idx,
    Images,
    MeanImage,
    Mirror,
    Numbers,
    Pad,
    Parquet,
    Pictures,
    Scale,
    SequenceFiles,
    Source,
    TextSequences,
    TFRecords,
    digits,
)
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError
from tests.data.sources import read

FRAME = {"features": Pictures(name="x", shape=(3, 4, 5)), "labels": Numbers(name="y")}
EXAMPLES = {
    "AvroFiles": AvroFiles("l", features="image", content="images", size=[3, 4]),
    "Cifar": Cifar("i", classes=100, records_per_split=9),
    "Csv": Csv("d", features=[0, 3], label=-1, header=False, bytes_per_split=300),
    "DataFrames": DataFrames("m", columns=FRAME, format="json", key="name"),
    "Digits": Digits(part="test", records=20),
    "HDF5": HDF5("h", label=None, columns={"left": "a", "labels": "b"}),
    "Idx": Idx("j", label_path="k"),
    "Images": Images("e", list_file="f", channels="BGR", size=[3, 4], records_per_split=2),
    "LMDB": LMDB("a", scale=0.5, mean=[1, 2, 3], size=9),
    "Parquet": Parquet("b", features="x", label=None, mean=4),
    "SequenceFiles": SequenceFiles("f", content="datums", label=False, size=3),
    "TFRecords": TFRecords("g", features="image/encoded", content="images", size=3),
    "Text": TextSequences("c", "d.json", steps=20, part=[0, 0.9], one_hot=False),
}
CROPPED = [{"type": "Crop", "size": 24}, {"type": "Mirror"}]


def test_every_type_has_an_example():
    ours = {n for n, cls in Source.members.items() if cls.__module__.startswith("sparkdl.")}
    assert ours == {*EXAMPLES, "Arrays"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_dict_json_and_yaml_give_an_equal_one_back(name):
    data = EXAMPLES[name]
    assert data.to_dict()["type"] == name
    assert Source.from_dict(data.to_dict()) == data
    assert Source.from_dict(text.from_json(text.to_json(data.to_dict()))) == data
    assert Source.from_dict(text.from_yaml(text.to_yaml(data.to_dict()))) == data


@pytest.mark.parametrize("name", sorted({*EXAMPLES} - {"Text"}))  # its alphabet must exist
def test_a_source_travels(name):
    assert pickle.loads(pickle.dumps(EXAMPLES[name])) == EXAMPLES[name]


def test_digits_are_scaled_to_one():
    source = EXAMPLES["Digits"]
    batch = read(source)
    assert batch.features.shape == (20, 1, 28, 28)
    assert source.transform == Scale(factor=1 / 255)
    np.testing.assert_array_equal(batch.labels, digits("test").labels[:20])
    assert len(pickle.dumps(source.read)) < 500


def test_lmdb_and_parquet_get_their_options():
    written = {"type": "LMDB", "path": "a", "scale": 0.5, "mean": [1, 2, 3], "size": 9}
    assert Source.from_dict(written) == LMDB("a", scale=0.5, mean=(1, 2, 3), size=9)
    written = {"type": "Parquet", "path": "b", "features": "x", "label": None, "mean": 4}
    options = {"features": "x", "label": None, "transform": Scale(mean=(4,))}
    assert Source.from_dict(written) == Parquet("b", **options)


def test_there_may_be_several_lmdbs(tmp_path):
    data = parse_data("{type: LMDB, path: [a, b]}")
    assert data == LMDB(["a", "b"])
    with pytest.raises(DataError, match="a: there is no such file or folder"):
        data.check()


def test_text_has_the_characters_of_its_file_or_those_that_were_saved(tmp_path):
    (tmp_path / "a.txt").write_text("abba")
    path, saved = str(tmp_path / "a.txt"), str(tmp_path / "b.json")
    source = parse_data(f"{{type: Text, path: {path}, steps: 2}}")
    assert source == TextSequences(path, steps=2)
    assert source.alphabet == Characters("ab")
    Characters("abc").save(saved)
    source = parse_data(f"{{type: Text, path: {path}, characters: {saved}, steps: 2}}")
    travelled = pickle.loads(pickle.dumps(source.read))
    (tmp_path / "b.json").unlink()
    assert source.alphabet == travelled.__self__.alphabet == Characters("abc")
    with pytest.raises(DataError, match="b.json: there is no such file"):
        source.check()
    batch = read(TextSequences(path, steps=2))
    np.testing.assert_array_equal(batch.features, [[0, 1], [1, 1]])


TEXT_REFUSES = [
    ({"scale": 2}, "TextSequences has no field 'scale'"),
    ({"transforms": CROPPED}, "TextSequences has no field 'transforms'"),
    ({"steps": 0}, "TextSequences.steps must be an integer >= 1, got 0"),
]


@pytest.mark.parametrize("options, message", TEXT_REFUSES, ids=[m for _, m in TEXT_REFUSES])
def test_text_refuses(options, message):
    with pytest.raises(ConfigError, match=message):
        TextSequences("a", **options)


def test_nothing_to_scale_is_no_transform():
    assert LMDB("a").transform is None
    assert Parquet("a", scale=1).transform is None
    assert Digits(scale=1).transform is None


def test_transforms_come_before_the_scale():
    wanted = Compose(Crop(size=24), Mirror(), Scale(mean=(1, 2, 3)))
    for kind in ("LMDB", "Parquet"):
        written = {"type": kind, "path": "a", "mean": [1, 2, 3], "transforms": CROPPED}
        assert Source.from_dict(written).transform == wanted
    only = Digits(transforms=[{"type": "Pad", "size": [1, 2]}], scale=1)
    assert only.transform == Pad(size=(1, 2))
    scaled = Digits(transforms=[{"type": "Mirror"}])
    assert scaled.transform == Compose(Mirror(), Scale(factor=1 / 255))


def test_a_transform_is_one_a_list_or_a_function():
    assert Csv("a", transform="mirror").transform == Mirror()
    assert Csv("a", transform={"type": "Crop", "size": 3}).transform == Crop(size=3)
    assert Csv("a", transform=[]).transform is None
    assert Csv("a", transform=[Crop(size=3), Mirror()]).transform == Compose(Crop(size=3), Mirror())
    assert Csv("a", transform=read).transform is read
    with pytest.raises(ConfigError, match=r"Csv.transform must .*; write Mirror\(...\)"):
        Csv("a", transform=Mirror)


def test_what_is_no_text_is_refused_by_name_when_it_is_to_be_written():
    message = "Csv.transform must be text or numbers to be written, got <function read"
    with pytest.raises(ConfigError, match=message):
        Csv("a", transform=read).to_dict()
    mean = MeanImage(mean=np.zeros((1, 2, 2)))
    with pytest.raises(ConfigError, match="MeanImage.mean must be text or numbers to be written"):
        Csv("a", transform=mean).to_dict()
    assert "MeanImage" in str(Csv("a", transform=mean))


WRONG = [
    ("Mirror", "Digits.transforms must be a sequence of members of Transform, got 'Mirror'"),
    ([{"type": "Miror"}], "Transform type must be one of .*, got 'Miror'; did you mean 'Mirror'"),
    (["Miror"], r"Digits.transforms\[0\] must be one of .*, got 'Miror'; did you mean 'Mirror'"),
    ([{"type": "Crop", "sise": 3}], "Crop has no field 'sise'; did you mean 'size'"),
    ([{"type": "Crop"}], "Crop needs the field 'size'"),
    ([{"type": "Crop", "size": 0}], "Crop.size must be"),
]


@pytest.mark.parametrize("transforms, message", WRONG, ids=[m for _, m in WRONG])
def test_wrong_transforms_are_named(transforms, message):
    with pytest.raises(ConfigError, match=message):
        Digits(transforms=transforms)


@pytest.mark.parametrize("name", ["Csv", "Images", "LMDB", "Parquet"])
def test_missing_path_is_named_before_spark_starts(name, tmp_path):
    path = str(tmp_path / "none")
    with pytest.raises(DataError, match=f"{path}: there is no such file or folder"):
        type(EXAMPLES[name])(path).check()


def test_files_beside_the_path_must_be_there_too(tmp_path):
    here = str(tmp_path)
    for source in (Images(here, list_file="none"), Idx(here, label_path="none")):
        with pytest.raises(DataError, match="^none: there is no such file or folder"):
            source.check()


def test_path_that_is_there_passes(tmp_path):
    LMDB(str(tmp_path)).check()
    LMDB(tmp_path).check()
    Digits().check()


WRITTEN = [
    ("Digits", Digits()),
    ("digits", Digits()),
    ("{type: Digits, part: test}", Digits(part="test")),
    (" {type: LMDB, path: a, scale: 0.5}", LMDB("a", scale=0.5)),
]


@pytest.mark.parametrize("written, data", WRITTEN)
def test_command_line_says_data(written, data):
    assert parse_data(written) == data


REFUSED = [
    (
        "Digit",
        f"type must be one of {', '.join(sorted([*EXAMPLES, 'Arrays']))}, got 'Digit'; "
        "did you mean 'Digits'",
    ),
    ("{type: Digits, prat: test}", "Digits has no field 'prat'; did you mean 'part'"),
    ("{type: Digits, scal: 1}", "Digits has no field 'scal'; did you mean 'scale'"),
    ("{type: Digits, part: exam}", "Digits.part must be 'train' or 'test', got 'exam'"),
    ("{type: Digits, records: 0}", "Digits.records must be an integer >= 1 or None, got 0"),
    ("{type: LMDB}", "LMDB needs the field 'path'"),
    ("{type: LMDB, path: 3}", "LMDB.path must be a path that is not empty or .*, got 3"),
    ("{type: LMDB, path: a, scale: 0}", "LMDB.scale must be a number, not 0, got 0"),
    ("{type: LMDB, path: a, mean: [x]}", r"LMDB.mean\[0\] must be a finite number, got 'x'"),
    ("{type: LMDB, path: a, mean: null}", "LMDB.mean must be a sequence of numbers, got None"),
    ("{type: Csv, path: a, bytes_per_split: '9'}", "Csv.bytes_per_split must be an integer >= 1"),
    ("{path: a}", "needs a 'type'"),
]


@pytest.mark.parametrize("written, message", REFUSED)
def test_command_line_is_refused(written, message):
    with pytest.raises(ConfigError, match=message):
        parse_data(written)


# Fields that configurations once could not set


def test_columns_of_hdf5_are_set_and_read(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["first"], file["second"] = np.arange(12.0).reshape(6, 2), np.arange(6)
    columns = "{left: first, labels: second}"
    source = parse_data(f"{{type: HDF5, path: {tmp_path}/a.h5, columns: {columns}}}")
    batch = read(source)
    assert set(batch.columns) == {"left", "labels"}
    np.testing.assert_array_equal(batch.columns["left"], np.arange(12.0).reshape(6, 2))
    np.testing.assert_array_equal(batch.labels, np.arange(6))


def test_bytes_of_a_split_of_csv_are_set_and_read(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n" + "".join(f"{i},{i % 3}\n" for i in range(50)))
    source = parse_data(f"{{type: Csv, path: {tmp_path}/a.csv, bytes_per_split: 40}}")
    size = (tmp_path / "a.csv").stat().st_size
    assert len(source.splits()) == -(-size // 40)
    np.testing.assert_array_equal(read(source).features[:, 0], np.arange(50))


def test_records_of_a_split_of_images_are_set_and_read(tmp_path):
    for i in range(7):
        (tmp_path / f"{i}.png").write_bytes(encode_image(np.full((3, 2, 2), i, np.uint8)))
    (tmp_path / "list").write_text("".join(f"{i}.png {i}\n" for i in range(7)))
    listed = f"path: {tmp_path}, list_file: {tmp_path}/list"
    source = parse_data(f"{{type: Images, {listed}, records_per_split: 3}}")
    assert [split.count for split in source.splits()] == [3, 3, 1]
    np.testing.assert_array_equal(read(source).features[:, 0, 0, 0], np.arange(7))


def test_arrays_may_be_written_as_lists():
    source = parse_data("{type: Arrays, features: [[1, 2], [3, 4]], labels: [0, 1], scale: 0.5}")
    assert isinstance(source, Arrays) and source.transform == Scale(factor=0.5)
    np.testing.assert_array_equal(read(source).features, [[1, 2], [3, 4]])
    with pytest.raises(ConfigError, match="Arrays.features must be text or numbers to be written"):
        source.to_dict()
