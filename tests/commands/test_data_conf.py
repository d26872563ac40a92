"""Data as a configuration names it: which source it is, and what is refused."""

import numpy as np
import pytest

import sparkdl.data as readers
from sparkdl.commands.data_conf import (
    HDF5,
    LMDB,
    AvroFiles,
    Cifar,
    Csv,
    DataConf,
    Digits,
    Idx,
    Images,
    Parquet,
    SequenceFiles,
    Text,
    TFRecords,
    parse_data,
)
from sparkdl.data import Characters, Compose, Crop, Mirror, Pad, Scale, TextSequences
from sparkdl.errors import ConfigError, DataError

EXAMPLES = {
    "AvroFiles": AvroFiles(path="l", features="image", content="images", size=[3, 4]),
    "Cifar": Cifar(path="i", classes=100),
    "Csv": Csv(path="d", features=[0, 3], label=-1, header=False),
    "Digits": Digits(part="test", records=20),
    "HDF5": HDF5(path="h", label=None),
    "Idx": Idx(path="j", label_path="k"),
    "Images": Images(path="e", list_file="f", channels="BGR", size=[3, 4]),
    "LMDB": LMDB(path="a", scale=0.5, mean=[1, 2, 3], size=9),
    "Parquet": Parquet(path="b", features="x", label=None, mean=4),
    "SequenceFiles": SequenceFiles(path="f", content="datums", label=False, size=3),
    "TFRecords": TFRecords(path="g", features="image/encoded", content="images", size=3),
    "Text": Text(path="c", characters="d.json", steps=20, part=[0, 0.9], one_hot=False),
}
CROPPED = [{"type": "Crop", "size": 24}, {"type": "Mirror"}]


def test_every_type_has_an_example():
    assert set(DataConf.members) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_dict_gives_an_equal_one_back(name):
    data = EXAMPLES[name]
    assert data.to_dict()["type"] == name
    assert DataConf.from_dict(data.to_dict()) == data


def test_digits_are_scaled_to_one():
    source = EXAMPLES["Digits"].source()
    assert source.features.shape == (20, 1, 28, 28)
    assert source.transform == Scale(factor=1 / 255)
    np.testing.assert_array_equal(source.labels, readers.digits("test").labels[:20])


def test_lmdb_and_parquet_get_their_options():
    assert EXAMPLES["LMDB"].source() == readers.LMDB("a", scale=0.5, mean=(1, 2, 3), size=9)
    options = {"features": "x", "label": None, "transform": Scale(mean=(4,))}
    assert EXAMPLES["Parquet"].source() == readers.Parquet("b", **options)


def test_there_may_be_several_lmdbs(tmp_path):
    data = parse_data("{type: LMDB, path: [a, b]}")
    assert data.source() == readers.LMDB(["a", "b"])
    with pytest.raises(DataError, match="a: there is no such file or folder"):
        data.check()


def test_text_has_the_characters_of_its_file_or_those_that_were_saved(tmp_path):
    (tmp_path / "a.txt").write_text("abba")
    path, saved = str(tmp_path / "a.txt"), str(tmp_path / "b.json")
    source = Text(path=path, steps=2).source()
    assert source == TextSequences(path, Characters("ab"), steps=2)
    Characters("abc").save(saved)
    assert Text(path=path, characters=saved).source().characters == Characters("abc")


@pytest.mark.parametrize("options", [{"scale": 2}, {"transforms": CROPPED}, {"steps": 0}], ids=str)
def test_text_refuses(options):
    with pytest.raises(ConfigError, match=f"{next(iter(options))} must be"):
        Text(path="a", **options)


def test_nothing_to_scale_is_no_transform():
    assert LMDB(path="a").transform is None


def test_transforms_come_before_the_scale():
    wanted = Compose(Crop(size=24), Mirror(), Scale(mean=(1, 2, 3)))
    for kind in (LMDB, Parquet):
        data = DataConf.from_dict(kind(path="a", mean=(1, 2, 3), transforms=CROPPED).to_dict())
        assert data.source().transform == wanted
    only = Digits(transforms=[{"type": "Pad", "size": [1, 2]}], scale=1)
    assert only.source().transform == Pad(size=(1, 2))


WRONG = [
    ("Mirror", "Digits.transforms must be a list of mappings, each with a type"),
    ([{"type": "Miror"}], "Transform type must be one of .*, got 'Miror'; did you mean 'Mirror'"),
    (["Mirror"], "Transform needs a 'type', got 'Mirror'"),
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
        type(EXAMPLES[name])(path=path).check()


def test_path_that_is_there_passes(tmp_path):
    LMDB(path=str(tmp_path)).check()
    Digits().check()


WRITTEN = [
    ("Digits", Digits()),
    ("{type: Digits, part: test}", Digits(part="test")),
    (" {type: LMDB, path: a, scale: 0.5}", LMDB(path="a", scale=0.5)),
]


@pytest.mark.parametrize("written, data", WRITTEN)
def test_command_line_says_data(written, data):
    assert parse_data(written) == data


REFUSED = [
    (
        "Digit",
        f"type must be one of {', '.join(sorted(EXAMPLES))}, got 'Digit'; did you mean 'Digits'",
    ),
    ("{type: Digits, prat: test}", "Digits has no field 'prat'; did you mean 'part'"),
    ("{type: Digits, part: exam}", "Digits.part must be one of"),
    ("{type: Digits, records: 0}", "Digits.records must be an integer >= 1 or None, got 0"),
    ("{type: LMDB}", "LMDB needs the field 'path'"),
    ("{type: LMDB, path: 3}", "LMDB.path must be a path, got 3"),
    ("{type: LMDB, path: a, scale: 0}", "LMDB.scale must be a number, not 0, got 0"),
    ("{type: LMDB, path: a, mean: [x]}", "LMDB.mean must be a number, or one for each channel"),
    ("{path: a}", "needs a 'type'"),
]


@pytest.mark.parametrize("written, message", REFUSED)
def test_command_line_is_refused(written, message):
    with pytest.raises(ConfigError, match=message):
        parse_data(written)
