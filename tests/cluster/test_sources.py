"""Every source reads records from HDFS, and converters write them there."""

import numpy as np
import pytest

from sparkdl.data import (
    LMDB,
    Batch,
    Images,
    Parquet,
    SequenceFiles,
    files,
    write_lmdb_anywhere,
    write_parquet,
    write_sequence_datums,
)
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.data.readers.lmdb_files.databases import first_image
from tests.commands.test_convert import convert
from tests.data.sources import KINDS, records

X, Y = records(40)


@pytest.fixture(autouse=True)
def copies(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "copies"))
    return tmp_path / "copies"


def read(source):
    """Returns (features, labels) of all splits."""
    found = Batch.concat([batch for split in source.splits() for batch in source.read(split)])
    return found.features.reshape(len(found), -1), found.labels


def check(source, x=X, y=Y):
    features, labels = read(source)
    np.testing.assert_array_equal(features, x.reshape(len(x), -1))
    np.testing.assert_array_equal(np.asarray(labels, int), y)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_source(name, as_user):
    kind = KINDS[name]
    folder = f"/sources/{name.replace(' ', '-')}"
    for part, half in enumerate([slice(25), slice(25, None)]):
        as_user.write(f"{folder}/part-{part}{kind.ending}", kind.encode(X[half], Y[half]))
    as_user.write(f"{folder}/_SUCCESS", b"")
    check(kind.source(f"{as_user.uri}{folder}", **kind.small))


def test_images(as_user):
    for i, image in enumerate(X[:6]):
        as_user.write(f"/images/{i}.png", encode_image(image))
    as_user.write("/images/list", b"".join(b"%d.png %d\n" % (i, Y[i]) for i in range(6)))
    source = Images("hdfs:///images", list_file="hdfs:///images/list", records_per_split=4)
    check(source, X[:6], Y[:6])


WRITERS = [
    (write_lmdb_anywhere, LMDB, {"records_per_split": 7}),
    (write_parquet, Parquet, {}),
    (write_sequence_datums, SequenceFiles, {"content": "datums"}),
]


@pytest.mark.parametrize("write, source, options", WRITERS)
def test_records_are_written_and_read(write, source, options, as_user):
    path = f"hdfs:///written/{source.__name__}"
    assert write(path, [Batch.of(X, Y)]) == len(X)
    assert as_user.names("/written")
    check(source(path, **options))


def test_an_lmdb_is_listed_from_a_few_pages(as_user, copies):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (3000, 3, 16, 16)).astype(np.uint8)
    write_lmdb_anywhere("hdfs:///big", [Batch.of(x, np.zeros(3000, int))])
    source = LMDB("hdfs:///big")
    assert sum(split.count for split in source.splits()) == 3000
    np.testing.assert_array_equal(first_image("hdfs:///big"), x[0])
    assert not copies.exists()
    check(source, x, np.zeros(3000, int))
    assert len(list(copies.glob("*.mdb"))) == 1


def test_sparkdl_convert_reads_and_writes_there(as_user):
    write_parquet("hdfs:///convert/parquet", [Batch.of(X, Y)])
    data, shape = "{type: Parquet, path: 'hdfs:///convert/parquet'}", ("--shape", "3,4,5")
    means = ("--mean", "hdfs:///convert/mean.npy")
    assert convert(data, "hdfs:///convert/db", *shape, *means) == 0
    check(LMDB("hdfs:///convert/db"))
    with files.open("hdfs:///convert/mean.npy") as file:
        np.testing.assert_allclose(np.load(file), X.mean(axis=0), rtol=1e-5)
