"""Caffe's LMDB databases: those of other writers are read; damaged ones are refused."""

import os
import pickle
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import lmdb
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

from sparkdl.data import (
    LMDB,
    Batch,
    Compose,
    Mirror,
    Resize,
    Scale,
    Schema,
    check_batches,
    digits,
    write_lmdb,
)
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.data.readers.lmdb_files import environment
from sparkdl.errors import ConfigError, DataError
from tests.data.lmdbs import (
    FLOATS,
    WRITERS,
    X,
    Y,
    caffe_db,
    datum,
    datum_label_first,
    put,
    shape_fields,
)
from tests.data.sources import read
from tests.support.protobuf import field

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_what_others_wrote_is_read(tmp_path, writer, size):
    batch = read(LMDB(caffe_db(tmp_path / "db", writer), records_per_split=size))
    assert batch.features.dtype == (np.float32 if writer in FLOATS else np.uint8)
    np.testing.assert_array_equal(batch.features, X)
    assert batch.labels.dtype == np.int32
    np.testing.assert_array_equal(batch.labels, Y)
    assert len(set(batch.ids)) == 10


def test_a_label_left_out_is_zero(tmp_path):
    value = shape_fields(X[0]) + field(4, X[0].tobytes())
    assert read(LMDB(put(tmp_path / "db", [(b"0", value)]))).labels.tolist() == [0]


def test_a_second_copy_of_the_data_holds(tmp_path):
    value = datum(X[0], 1) + field(4, X[1].tobytes())  # the last value of a field counts
    batch = read(LMDB(put(tmp_path / "db", [(b"0", value)])))
    np.testing.assert_array_equal(batch.features[0], X[1])


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
@pytest.mark.parametrize("subdir", [True, False])
def test_folders_and_files(tmp_path, subdir, prefix):
    path = caffe_db(tmp_path / "db", subdir=subdir)
    np.testing.assert_array_equal(read(LMDB(prefix + path)).features, X)


def test_no_lock_file_is_needed_or_made(tmp_path):
    path = caffe_db(tmp_path / "db", lock=False)
    os.chmod(f"{path}/data.mdb", 0o444)
    read(LMDB(path))
    assert os.listdir(path) == ["data.mdb"]


KEYS = {
    "names": [b"00000000_cat.jpg", b"00000001_dog.jpg", b"00000005_bird.jpg"],
    "gaps": [b"00000000", b"00000002", b"00000003"],
    "from 7": [b"07", b"08", b"09"],
    "widths": [b"1", b"10", b"2"],
    "any bytes": [b"\x00", b"\xff\xfe", b"\xff\xff"],
}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("keys", KEYS)
def test_keys_of_every_kind(tmp_path, keys, size):
    values = [datum(x, i) for i, x in enumerate(X[:3])]
    source = LMDB(put(tmp_path / "db", zip(KEYS[keys], values)), records_per_split=size)
    splits = source.splits()
    assert sum(split.count for split in splits) == 3
    assert [split.first for split in splits] == KEYS[keys][::size]
    assert read(source).labels.tolist() == [0, 1, 2]


def test_consecutive_keys_are_not_walked(tmp_path, monkeypatch):
    path = caffe_db(tmp_path / "db")
    monkeypatch.setattr("sparkdl.data.readers.lmdb_files.databases.islice", None)
    assert len(LMDB(path, records_per_split=3).splits()) == 4


def test_splits_are_small_and_say_where(tmp_path, monkeypatch):
    caffe_db(tmp_path / "db")
    monkeypatch.chdir(tmp_path)
    splits = LMDB("db", records_per_split=4).splits()
    assert [split.count for split in splits] == [4, 4, 2]
    assert str(splits[1]) == f"{tmp_path}/db from key 00000004"
    assert len(pickle.dumps(splits[1])) < 500
    assert len(pickle.dumps(LMDB("db").read)) < 500


@pytest.mark.parametrize("side, count", [(28, 1260), (60, 256)])
def test_a_split_is_worth_opening_the_file_for(tmp_path, side, count):
    """It has 256 records, or 1 MiB of smaller ones; a page of 4 KB has five of 28 x 28."""
    x = np.zeros((2000, 1, side, side), np.uint8)
    write_lmdb(tmp_path / "db", [Batch.of(x, np.zeros(2000, np.int32))])
    source = LMDB(str(tmp_path / "db"))
    splits = source.splits()
    assert splits[0].count == pytest.approx(count, abs=40)
    assert sum(split.count for split in splits) == 2000
    assert {len(batch) for batch in source.read(splits[0])} <= {256, splits[0].count % 256}


def test_scale_and_mean_are_the_transform(tmp_path):
    assert LMDB("a").transform is None
    assert LMDB("a", scale=0.5, mean=(1, 2)).transform == Scale(factor=0.5, mean=(1, 2))
    assert LMDB("a", transforms=[Mirror()]).transform == Mirror()
    both = LMDB("a", transforms=(Mirror(),), scale=0.5).transform
    assert both == Compose(Mirror(), Scale(factor=0.5))
    assert LMDB("a", mean=3).transform.mean == (3,)
    assert LMDB("a", transform=[Mirror(), Scale(factor=0.5)]) == LMDB("a", transform=both)
    with pytest.raises(ConfigError, match="LMDB takes either transform or scale"):
        LMDB("a", transform=Mirror(), scale=0.5)


@pytest.mark.parametrize("options", [{"scale": 0}, {"records_per_split": -1}], ids=str)
def test_lmdb_refuses(options):
    with pytest.raises(ConfigError):
        LMDB("a", **options)


ROUND_TRIPS = {
    "uint8 images": X,
    "float images": X.astype(np.float32) / 7,
    "double images": X / 7,
    "one channel": X[:, 0],
    "rows": X.reshape(10, -1),
}


@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_round_trip(tmp_path, kind):
    x, path = ROUND_TRIPS[kind], str(tmp_path / "db")
    batches = [Batch.of(x[:4], Y[:4]), Batch.of(x[4:], Y[4:])]
    assert write_lmdb(path, batches) == 10
    batch = read(LMDB(path))
    assert batch.features.dtype == (np.uint8 if x.dtype == np.uint8 else np.float32)
    np.testing.assert_array_equal(batch.features.ravel(), x.astype(batch.features.dtype).ravel())
    np.testing.assert_array_equal(batch.labels, Y)


def test_what_is_written_are_the_bytes_caffe_writes(tmp_path):
    write_lmdb(tmp_path / "db", [Batch.of(X, Y)])
    with lmdb.open(str(tmp_path / "db"), readonly=True, lock=False) as env, env.begin() as reading:
        found = list(reading.cursor())
    assert found == [(b"%08d" % i, datum(x, int(y))) for i, (x, y) in enumerate(zip(X, Y))]


def test_real_digits_round_trip(tmp_path):
    sample, path = digits("test"), str(tmp_path / "digits_lmdb")
    write_lmdb(path, [sample])
    source = LMDB(path)
    schema = Schema(features=(1, 28, 28), labels="class", label_size=10)
    read_back = Batch.concat(
        [b for split in source.splits() for b in check_batches(source.read, split, schema)]
    )
    np.testing.assert_array_equal(read_back.features, sample.features)
    np.testing.assert_array_equal(read_back.labels, sample.labels)


UNWRITABLE = {
    "nothing": ([], "an LMDB must hold records, got none"),
    "half classes": ([Batch.of(X, Y), Batch.of(X, Y + 0.5)], "record 10: label must be a whole"),
    "cubes": ([Batch.of(X[None])], r"features must be \(n, C, H, W\)"),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_cannot_be_written_leaves_nothing(tmp_path, case):
    batches, message = UNWRITABLE[case]
    with pytest.raises(DataError, match=message):
        write_lmdb(tmp_path / "db", batches)
    assert os.listdir(tmp_path) == []


def test_nothing_is_written_over(tmp_path):
    path = caffe_db(tmp_path / "db")
    with pytest.raises(DataError, match=f"^{path}: something is there already"):
        write_lmdb(path, [Batch.of(X)])


def test_unknown_file_systems_are_refused():
    with pytest.raises(DataError, match="^nofs://nn/db: its file system cannot be reached"):
        LMDB("nofs://nn/db").splits()


def test_two_readers_share_one_map_and_close_it(tmp_path):
    source = LMDB(caffe_db(tmp_path / "db"), records_per_split=5)
    first, second = (source.read(split) for split in source.splits())
    a, b = next(first), next(second)
    assert len(environment._open) == 1
    np.testing.assert_array_equal(np.concatenate([a.features, b.features]), X)
    first.close()
    assert len(environment._open) == 1
    assert list(second) == []
    assert not environment._open


def test_many_threads_may_read(tmp_path):
    source, found = LMDB(caffe_db(tmp_path / "db"), records_per_split=1), []
    threads = [threading.Thread(target=lambda: found.append(read(source))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(batch.features, X) for batch in found)
    assert not environment._open


def test_a_replaced_database_is_read_anew(tmp_path):
    source = LMDB(caffe_db(tmp_path / "db"))
    unfinished = source.read(source.splits()[0])
    next(unfinished)
    os.rename(tmp_path / "db", tmp_path / "old")
    write_lmdb(tmp_path / "db", [Batch.of(X[::-1].copy(), Y)])
    np.testing.assert_array_equal(read(source).features, X[::-1])
    assert list(unfinished) == []


def test_a_renamed_database_is_read(tmp_path):
    for old, new in pairwise(["a", "b", "c"]):
        if old == "a":
            read(LMDB(caffe_db(tmp_path / old)))
        os.rename(tmp_path / old, tmp_path / new)
        np.testing.assert_array_equal(read(LMDB(str(tmp_path / new))).features, X)


def test_batches_outlive_the_map(tmp_path):
    for writer in (datum, datum_label_first):
        batch = read(LMDB(caffe_db(tmp_path / writer.__name__, writer)))
        batch.features[0] = 0  # memory of its own: writable, and not in the map
        np.testing.assert_array_equal(batch.features[1:], X[1:])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_may_read_what_the_parent_has_open(tmp_path):
    source = LMDB(caffe_db(tmp_path / "db"), records_per_split=5)
    splits = source.splits()
    reading = source.read(splits[0])
    next(reading)
    child = os.fork()
    if child == 0:
        try:
            sound = np.array_equal(read(source).features, X) and not environment._open
        except BaseException:
            sound = False
        os._exit(0 if sound else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert list(reading) == []
    np.testing.assert_array_equal(read(source).features, X)


def test_caffes_own_descriptor_may_be_loaded_too():
    """The default pool refuses a second message of the same name, so ours must not be in it."""
    file = descriptor_pb2.FileDescriptorProto(name="sparkdl/datum.proto", package="sparkdl")
    file.message_type.add(name="Datum")
    descriptor_pool.Default().Add(file)
    caffe = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package="caffe")
    caffe.message_type.add(name="Datum")
    descriptor_pool.Default().Add(caffe)
    assert descriptor_pool.Default().FindMessageTypeByName("caffe.Datum")


def encoded(x, y, kind="PNG"):
    """Returns a Datum as Caffe's tools write it with -encoded: with a color image file."""
    return field(4, encode_image(x[::-1], kind)) + field(5, int(y)) + field(7, 1)


def test_encoded_images_are_decoded_to_the_channels_of_plain_ones(tmp_path):
    batch = read(LMDB(caffe_db(tmp_path / "db", encoded)))
    np.testing.assert_array_equal(batch.features, X)
    np.testing.assert_array_equal(batch.labels, Y)


def test_encoded_and_plain_gray_images_may_be_mixed(tmp_path):
    items = [(b"0", datum(X[0, :1], 1)), (b"1", field(4, encode_image(X[1, :1])) + field(7, 1))]
    batch = read(LMDB(put(tmp_path / "db", items)))
    np.testing.assert_array_equal(batch.features, X[:2, :1])
    np.testing.assert_array_equal(batch.labels, [1, 0])


@pytest.mark.parametrize("writer", [encoded, datum])
def test_images_of_every_size_are_resized(tmp_path, writer):
    x = [X[0], X[1].reshape(3, 4, 2), X[2][:, :, :2]]
    items = [(b"%d" % i, writer(one, i)) for i, one in enumerate(x)]
    batch = read(LMDB(put(tmp_path / "db", items), size=(2, 4)))
    wanted = [Resize(size=(2, 4))(Batch.of(one[np.newaxis])).features[0] for one in x]
    np.testing.assert_array_equal(batch.features, wanted)


LIMITED = """
import resource, sys
from sparkdl.data import LMDB
from sparkdl.errors import DataError
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
try:
    LMDB(sys.argv[1]).splits()
except DataError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_limit_of_addresses_is_told(tmp_path):
    """spark.executor.pyspark.memory limits the address space of the executors' Python processes."""
    large = datum(np.zeros((1, 4096, 8192), np.uint8), 1)
    command = [sys.executable, "-c", LIMITED, put(tmp_path / "db", [(b"0", large)])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert "cannot be mapped" in done.stdout and "spark.executor.pyspark.memory" in done.stdout
