"""Many small files in an object store: few requests for each, made at once, with exact errors."""

import threading
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from sparkdl.data import HDF5, Batch, Cifar, Csv, Images, Parquet, files, hadoop
from sparkdl.data.ordered_calls import THREADS
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.data.readers.tables.parquet import file_schemas
from sparkdl.errors import DataError
from tests.data.buckets import install
from tests.data.sources import KINDS, records
from tests.data.systems import ObjectStore

COUNT = 2 * THREADS
FROM_LISTING = ["AvroFiles", "TFRecords"]  # of which nothing is read


@pytest.fixture
def s3(monkeypatch):
    return install(monkeypatch)


def fill(s3, kind, count=COUNT):
    for i in range(count):
        s3.objects[f"bucket/data/{i:03}{kind.ending}"] = kind.encode(*records(1 + i % 3))


def verbs(s3):
    return Counter(verb for verb, _ in s3.calls)


@pytest.mark.parametrize("name", KINDS)
def test_splits_cost_one_request_for_each_file_or_none(name, s3):
    kind = KINDS[name]
    fill(s3, kind)
    s3.calls.clear()
    s3.meet = None if name in FROM_LISTING else threading.Barrier(THREADS)
    splits = kind.source("s3://bucket/data").splits()
    assert [split.path for split in splits] == sorted(split.path for split in splits)
    assert len({split.path for split in splits}) == COUNT
    assert verbs(s3)["get"] == (0 if name in FROM_LISTING else COUNT)
    assert verbs(s3)["head"] == 0 and verbs(s3)["list"] <= 3


def test_identities_come_from_one_listing(s3):
    for name, kind in KINDS.items():
        s3.objects.clear()
        fill(s3, kind)
        s3.calls.clear()
        assert kind.source("s3://bucket/data").identity() is not None
        assert verbs(s3)["head"] <= 1 and not verbs(s3)["get"], name


def test_files_of_fixed_records_are_counted_by_the_listing(s3):
    s3.objects |= {f"bucket/data/{i}.bin": bytes(3073 * (i + 1)) for i in range(4)}
    assert [split.count for split in Cifar("s3://bucket/data").splits()] == [1, 2, 3, 4]
    assert not verbs(s3)["head"] and not verbs(s3)["get"]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in FROM_LISTING])
def test_the_first_broken_file_is_named_whichever_was_read_first(name, s3):
    kind = KINDS[name]
    fill(s3, kind)
    paths = sorted(s3.objects)
    for i in (5, 9, 20):
        s3.objects[paths[i]] = b"\x93 this is none of it\n\xff\n" * 50
    for _ in range(5):
        with pytest.raises(DataError, match=f"^s3://{paths[5]}"):
            kind.source("s3://bucket/data").splits()
    assert "sparkdl-files" not in {thread.name for thread in threading.enumerate()}


def test_a_file_that_has_gone_is_named(s3, monkeypatch):
    fill(s3, KINDS["Csv"])
    cat = s3.cat_file

    def gone(fs, path, *bounds, **options):
        if path.endswith(("007.csv", "003.csv")):
            raise FileNotFoundError(path)
        return cat(fs, path, *bounds, **options)

    monkeypatch.setattr(s3, "cat_file", gone)
    with pytest.raises(DataError, match="^s3://bucket/data/003.csv: there is no such file"):
        Csv("s3://bucket/data").splits()


def test_the_first_file_names_the_columns_though_others_are_read_before(s3, monkeypatch):
    others, cat = threading.Barrier(2), s3.cat_file

    def first_last(fs, path, *bounds, **options):
        if path.endswith(("0.csv", "9.csv")):
            others.wait(30)
        return cat(fs, path, *bounds, **options)

    s3.objects |= {f"bucket/data/{i}.csv": b"b,a,label\n1,2,3\n" for i in range(1, 10)}
    s3.objects["bucket/data/0.csv"] = b"a,b,label\n2,1,3\n"
    monkeypatch.setattr(s3, "cat_file", first_last)
    splits = Csv("s3://bucket/data").splits()
    assert [split.features for split in splits] == [None] + [(1, 0)] * 9


def test_long_first_lines_are_read_on(s3):
    names = [f"column{i}" for i in range(10_000)]
    text = f"{','.join(names)}\n{','.join('1' for _ in names)}\n"
    s3.objects["bucket/a.csv"] = text.encode()
    [split] = Csv("s3://bucket/a.csv", label="column9999").splits()
    assert (split.width, split.label) == (10_000, 9999)


def test_long_footers_are_read_on(s3, monkeypatch):
    kind = KINDS["Parquet"]
    fill(s3, kind, 3)
    expected = Parquet("s3://bucket/data").splits()
    schemas = file_schemas("s3://bucket/data", ["features"])
    monkeypatch.setattr("sparkdl.data.readers.tables.parquet.FOOTER", 100)
    assert Parquet("s3://bucket/data").splits() == expected
    assert file_schemas("s3://bucket/data", ["features"]) == schemas
    assert list(schemas) == [f"s3://bucket/data/{i:03}.parquet" for i in range(3)]


def test_larger_hdf5_files_are_opened_in_place(s3, monkeypatch):
    fill(s3, KINDS["HDF5"])
    expected = HDF5("s3://bucket/data").splits()
    monkeypatch.setattr(files, "READ_AHEAD", 1000)
    assert HDF5("s3://bucket/data").splits() == expected


def test_a_list_of_hdf5_files_is_looked_up_at_once(s3):
    fill(s3, KINDS["HDF5"])
    s3.objects["bucket/list.txt"] = "\n".join(f"data/{i:03}.h5" for i in range(COUNT)).encode()
    s3.calls.clear()
    splits = HDF5("s3://bucket/list.txt").splits()
    assert len(splits) == COUNT
    assert verbs(s3)["get"] - 1 == COUNT and verbs(s3)["head"] <= COUNT + 2


def test_images_and_their_folders_are_asked_for_at_once(s3):
    rng = np.random.default_rng(0)
    for i in range(COUNT):
        image = encode_image(rng.integers(0, 256, (3, 4, 5)).astype(np.uint8))
        s3.objects[f"bucket/data/{i:03}/a.png"] = image
    source = Images("s3://bucket/data")
    assert source.identity() is not None
    assert verbs(s3)["list"] <= COUNT + 2
    s3.calls.clear()
    [split] = source.splits()
    assert verbs(s3) == {"list": COUNT + 1}
    s3.meet = threading.Barrier(THREADS)
    x = Batch.concat([*source.read(split)])
    assert verbs(s3)["get"] == COUNT
    s3.meet = None
    one_by_one = [source._image(f"{split.path}/{name}", s3.objects[f"bucket/data/{name}"], [])
                  for name in split.names]  # fmt: skip
    np.testing.assert_array_equal(x.features, one_by_one)


class Cluster(ObjectStore):
    """Its listings tell the time of changes, as those of HDFS do."""

    def ls(self, path, detail=True, **options):
        changed = {"modified": datetime(2026, 1, 1, tzinfo=UTC)}
        return [one | changed for one in super().ls(path)]


@pytest.mark.parametrize("name", FROM_LISTING)
def test_files_of_a_cluster_are_known_from_its_listing(name, monkeypatch):
    """Sizes, and the times that reveal changes."""
    for field, value in {"store": {}, "pseudo_dirs": [""], "asked": []}.items():
        monkeypatch.setattr(ObjectStore, field, value)
    cluster = Cluster()
    monkeypatch.setattr(hadoop, "file_system", lambda uri: (cluster, uri.removeprefix("hdfs://a")))
    kind = KINDS[name]
    for i in range(3):
        cluster.pipe_file(f"/data/{i}{kind.ending}", kind.encode(*records(2)))
    cluster.asked.clear()
    assert len(kind.source("hdfs://a/data").splits()) == 3
    assert kind.source("hdfs://a/data").identity() is not None
    assert {*cluster.asked} == {"LIST data", "HEAD data"}


def test_a_broken_image_is_named_after_those_before_it(s3):
    image = encode_image(np.zeros((3, 4, 5), np.uint8))
    s3.objects |= {f"bucket/data/a/{i:02}.png": image for i in range(COUNT)}
    listing = "".join(f"a/{i:02}.png 0\n" for i in range(COUNT))
    s3.objects["bucket/list"] = listing.encode()
    s3.objects["bucket/data/a/07.png"] = s3.objects["bucket/data/a/03.png"] = b"none"
    source = Images("s3://bucket/data", list_file="s3://bucket/list")
    with pytest.raises(DataError, match="^s3://bucket/data/a/03.png: must be an image"):
        [*source.read(source.splits()[0])]
    assert "sparkdl-files" not in {thread.name for thread in threading.enumerate()}
