"""What holds for every source of files. A new source is one more row of KINDS."""

import pickle
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import sparkdl.data
from sparkdl.data import Batch, Schema, Source, check_batches, files
from sparkdl.errors import DataError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.network import Network
from tests.data.sources import KINDS, records, write

SCHEMA = Schema(features=(3, 4, 5), labels="class", label_size=10)
PLACES = ["{}", "file://{}", "memory:/{}"]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@contextmanager
def place(form, tmp_path):
    """Yields a folder on the file system of `form`."""
    try:
        yield form.format(tmp_path)
    finally:
        if form.startswith("memory"):
            files.remove(form.format(tmp_path))


def fill(kind, folder, counts):
    """Writes files with `counts` records and returns all records."""
    made = [records(count) for count in counts]
    for i, (x, y) in enumerate(made):
        write(f"{folder}/part-{i}{kind.ending}", kind.encode(x, y))
    return np.concatenate([x for x, _ in made]), np.concatenate([y for _, y in made])


def batches(source, schema=SCHEMA):
    for split in source.splits():
        yield from check_batches(source.read, pickle.loads(pickle.dumps(split)), schema)


def assert_reads(source, x, y, schema=SCHEMA):
    found = Batch.concat(list(batches(source, schema)))
    np.testing.assert_array_equal(found.features, x)
    np.testing.assert_array_equal(found.labels, y)
    assert len(set(found.ids.tolist())) == len(x)


@pytest.mark.parametrize("form", PLACES)
def test_a_folder_of_uneven_files_is_read_in_order(kind, form, tmp_path):
    with place(form, tmp_path) as folder:
        x, y = fill(kind, folder, [7, 1, 30])
        assert_reads(kind.source(folder), x, y)


def test_small_splits_hold_the_same_records(kind, tmp_path):
    x, y = fill(kind, tmp_path, [7, 1, 30])
    source = kind.source(str(tmp_path), **kind.small)
    assert len(source.splits()) > len(kind.source(str(tmp_path)).splits()) or not kind.small
    assert [split.partition for split in source.splits()] == list(range(len(source.splits())))
    assert_reads(source, x, y)


@pytest.mark.parametrize("count", [1, 2, 33])
def test_another_reader_agrees(kind, count, tmp_path):
    x, y = records(count)
    path = write(tmp_path / f"a{kind.ending}", kind.encode(x, y))
    others, labels = kind.decode(Path(path).read_bytes())
    assert_reads(kind.source(path), np.reshape(others, x.shape), labels)
    np.testing.assert_array_equal(np.reshape(others, x.shape), x)


def test_splits_come_from_metadata_alone(kind, tmp_path, monkeypatch):
    fill(kind, tmp_path, [9, 5000])
    seen, opened = [], files.open

    def counted(path, mode="rb"):
        file = opened(path, mode)
        read = file.read
        file.read = lambda *n: (seen.append(len(got := read(*n))), got)[1]
        return file

    monkeypatch.setattr(files, "open", counted)
    splits = kind.source(str(tmp_path)).splits()
    assert sum(seen) <= 2**17
    assert all(len(pickle.dumps(split)) < 16_384 for split in splits)


def test_marks_and_checksums_are_left_out(kind, tmp_path):
    x, y = fill(kind, tmp_path, [3])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.crc").write_bytes(b"crc")
    assert_reads(kind.source(str(tmp_path)), x, y)


def test_an_empty_file_among_others_is_no_fault(kind, tmp_path):
    fill(kind, tmp_path, [0, 4, 0])
    assert sum(len(batch) for batch in batches(kind.source(str(tmp_path)))) == 4


def test_nothing_but_an_empty_file_is_refused_or_gives_none(kind, tmp_path):
    path = write(tmp_path / f"a{kind.ending}", b"")
    with pytest.raises(DataError, match=f"^{path}: "):
        list(batches(kind.source(path)))
    fill(kind, tmp_path / "none", [0])
    try:
        assert list(batches(kind.source(str(tmp_path / "none")))) == []
    except DataError as error:
        assert str(error) == f"{tmp_path}/none: must hold records, but is empty"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_file_is_named(kind, share, tmp_path):
    content = kind.encode(*records(20))
    keep = int(len(content) * share) + 3  # + 3: so that the cut is inside a record
    path = write(tmp_path / f"a{kind.ending}", content[:keep])
    with pytest.raises(DataError, match=f"^{path}"):
        list(batches(kind.source(path)))


def test_a_file_that_is_shorter_than_when_it_was_listed_is_named(kind, tmp_path):
    """It is not read as fewer records, although the remaining ones are whole."""
    x, y = records(40)
    path = write(tmp_path / f"a{kind.ending}", kind.encode(x, y))
    source = kind.source(path, **kind.small)
    splits = source.splits()
    write(path, kind.encode(x[:21], y[:21]))
    with pytest.raises(DataError, match=f"^{path}"):
        [batch for split in splits for batch in source.read(split)]


def test_what_is_something_else_is_named(kind, tmp_path):
    path = write(tmp_path / f"a{kind.ending}", b"\x93 this is none of it\n\xff\n" * 50)
    with pytest.raises(DataError, match=f"^{path}"):
        list(batches(kind.source(path)))


@pytest.mark.parametrize("schema, message", [
    (Schema(features=(3, 4, 6), labels="class", label_size=10), "features must have 72 numbers"),
    (Schema(features=(3, 4, 5), labels="class", label_size=9), "label must be in"),
])  # fmt: skip
def test_wrong_shapes_and_labels_are_named(kind, schema, message, tmp_path):
    x, _ = records(9)
    path = write(tmp_path / f"a{kind.ending}", kind.encode(x, np.full(9, 9)))
    with pytest.raises(DataError, match=f"^{path}.*, record 0: {message}"):
        list(batches(kind.source(path), schema))


def test_a_missing_path_is_named(kind, tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}/none: there is no such"):
        kind.source(f"{tmp_path}/none").splits()


def test_a_folder_without_files_is_named(kind, tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}: must hold "):
        kind.source(str(tmp_path)).splits()


@pytest.mark.slow
def test_a_network_trains_on_it(kind, tmp_path):
    fill(kind, tmp_path, [9, 8])
    conf = NetworkConf(input_shape=(3, 4, 5), seed=1, layers=[Dense(units=4), Output(units=10)])
    history = Network(conf).fit(kind.source(str(tmp_path)), epochs=1)
    assert history.epochs[0].examples == 17


@pytest.mark.parametrize("name", KINDS)
def test_a_configuration_names_it(name, tmp_path):
    kind = name.split()[0]
    written = {"type": kind, "path": str(tmp_path), **KINDS[name].options}
    source = Source.from_dict(written)
    assert source == getattr(sparkdl.data, kind)(str(tmp_path), **KINDS[name].options)
