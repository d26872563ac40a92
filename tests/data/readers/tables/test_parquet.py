"""Parquet files, split by row groups."""

import pickle
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkdl.data import Batch, Parquet, Schema, check_batches
from sparkdl.errors import ConfigError, DataError

X = np.random.default_rng(0).integers(0, 256, (10, 6)).astype(np.uint8)
Y = np.arange(10) % 3
SCHEMA = Schema(features=(1, 2, 3), labels="class", label_size=3)
FEATURES = {
    "list": pa.array(X.astype(float).tolist()),
    "float list": pa.array(X.tolist(), pa.list_(pa.float32())),
    "fixed list": pa.array(X.tolist(), pa.list_(pa.float32(), 6)),
    "nested": pa.array(X.reshape(10, 1, 2, 3).tolist()),
    "binary": pa.array([x.tobytes() for x in X]),
    "vector": pa.array(
        [{"type": 1, "size": None, "indices": None, "values": x.astype(float)} for x in X],
        pa.struct(
            {
                "type": pa.int8(),
                "size": pa.int32(),
                "indices": pa.list_(pa.int32()),
                "values": pa.list_(pa.float64()),
            }
        ),
    ),
}
LABELS = {
    "int": pa.array(Y, pa.int32()),
    "float": pa.array(Y.astype(float)),
    "one-hot": pa.array(np.eye(3)[Y].tolist()),
}


def write(path, features="list", labels="int", rows=slice(None), group=4):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"features": FEATURES[features], "label": LABELS[labels], "id": pa.array(Y)})
    start, stop, _ = rows.indices(10)
    pq.write_table(table.slice(start, stop - start), path, row_group_size=group)
    return str(path)


def read(source, schema=SCHEMA):
    splits = source.splits()
    return Batch.concat([b for s in splits for b in check_batches(source.read, s, schema)])


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("features", FEATURES)
def test_columns_of_every_kind(tmp_path, features, labels):
    batch = read(Parquet(write(tmp_path / "a.parquet", features, labels)))
    np.testing.assert_array_equal(batch.features.reshape(10, 6), X)
    np.testing.assert_array_equal(batch.labels, Y)
    assert batch.features.dtype == (np.uint8 if features == "binary" else np.float32)


def test_splits_are_row_groups(tmp_path):
    splits = Parquet(write(tmp_path / "a.parquet")).splits()
    assert [split.count for split in splits] == [4, 4, 2]
    assert [split.partition for split in splits] == [0, 1, 2]
    assert str(splits[1]) == f"{tmp_path}/a.parquet, row group 1"
    assert all(len(pickle.dumps(split)) < 500 for split in splits)


def test_ids_are_of_the_split_and_unique(tmp_path):
    source = Parquet(write(tmp_path / "a.parquet"))
    [batch] = source.read(source.splits()[1])
    np.testing.assert_array_equal(batch.ids, (1 << 40) + np.arange(4))


def test_a_large_row_group_comes_in_pieces(tmp_path):
    path = f"{tmp_path}/a.parquet"
    pq.write_table(pa.table({"features": np.arange(10_000), "label": np.zeros(10_000)}), path)
    source = Parquet(path)
    [split] = source.splits()
    batches = list(source.read(split))
    assert max(len(b) for b in batches) == 4096
    whole = Batch.concat(batches)
    np.testing.assert_array_equal(whole.features, np.arange(10_000))
    np.testing.assert_array_equal(whole.ids, np.arange(10_000))


@pytest.mark.slow
def test_pieces_are_as_small_for_equal_numbers_which_take_nothing_in_a_file(tmp_path):
    zeros = pa.array(np.zeros(5 * 10**6, np.float32))
    rows = pa.ListArray.from_arrays(np.arange(0, len(zeros) + 1, 10**5, dtype=np.int32), zeros)
    pq.write_table(pa.table({"features": rows}), tmp_path / "a.parquet")
    source = Parquet(path=tmp_path / "a.parquet", label=None)
    [split] = source.splits()
    assert [len(batch) for batch in source.read(split)] == [40, 10]  # of 16 MiB


def test_a_page_that_claims_gigabytes_gets_no_memory(tmp_path):
    path = write(tmp_path / "a.parquet", group=10)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    size = rb"\x15[\x80-\xff]?[\0-\x7f]"
    before, after = re.match(rb"(\x15\0%b)%b(.{40})" % (size, size), content[at:], re.S).groups()
    header = before + b"\x15\xfe\xff\xff\xff\x0f" + after  # a compressed size of 2**31 - 1
    content[at : at + len(header)] = header
    (tmp_path / "a.parquet").write_bytes(content)
    most = pa.default_memory_pool().max_memory()
    with pytest.raises(DataError, match="Page was smaller"):
        read(Parquet(path))
    assert pa.default_memory_pool().max_memory() <= max(most, 2**24)


def test_a_folder_is_read_in_order(tmp_path):
    write(tmp_path / "part-1.parquet", rows=slice(4, 10))
    write(tmp_path / "part-0.parquet", rows=slice(0, 4))
    write(tmp_path / "part-2.parquet", rows=slice(0, 0))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").write_bytes(b"crc")
    batch = read(Parquet(str(tmp_path)))
    np.testing.assert_array_equal(batch.features.reshape(10, 6), X)


def test_paths_of_splits_are_absolute(tmp_path, monkeypatch):
    write(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    assert Parquet("a.parquet").splits()[0].path == f"{tmp_path}/a.parquet"
    absolute = f"file:{tmp_path}/a.parquet"
    assert Parquet(absolute).splits()[0].path == f"{tmp_path}/a.parquet"


def test_labels_may_be_left_out(tmp_path):
    source = Parquet(write(tmp_path / "a.parquet"), label=None)
    assert list(read(source, Schema(features=(6,))).columns) == ["features"]


def test_another_file_system(tmp_path):
    from sparkdl.data import files

    local = write(tmp_path / "a.parquet")
    with files.open("memory://set/a.parquet", "wb") as out, open(local, "rb") as file:
        out.write(file.read())
    np.testing.assert_array_equal(read(Parquet("memory://set")).labels, Y)
    files.remove("memory://set")


def test_a_missing_column_is_refused_on_the_driver(tmp_path):
    path = write(tmp_path / "a.parquet")
    with pytest.raises(DataError) as caught:
        Parquet(path, features="feature").splits()
    assert str(caught.value) == (
        f"{path}: has no column 'feature'; columns are ['features', 'label', 'id']; "
        "did you mean 'features'?"
    )


def test_two_columns_of_a_name_are_refused(tmp_path):
    path = f"{tmp_path}/a.parquet"
    pq.write_table(pa.table([[1.0], [2.0], [0]], ["x", "x", "label"]), path)
    with pytest.raises(DataError, match=f"^{path}: has 2 columns 'x'; rename all but one$"):
        Parquet(path, features="x").splits()
    assert Parquet(path, features="label", label=None).splits()


def test_a_column_of_folders_is_told(tmp_path):
    path = tmp_path / "label=3/a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"features": [1.0]}), path)
    message = f"^{path}: has no column 'label', which is in the names of folders.*spark.read.parq"
    with pytest.raises(DataError, match=message):
        Parquet(str(tmp_path)).splits()


@pytest.mark.parametrize("name", ["label", "Label"])
def test_a_column_of_folders_and_of_their_file_is_refused(name, tmp_path):
    """Spark takes the folders' value, so that to read the file's would give other labels."""
    path = tmp_path / f"{name}=3/a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"features": [1.0], "label": [7]}), path)
    message = f"^{path}: column 'label' is in the file and in the names of folders: .*, or rename"
    with pytest.raises(DataError, match=message):
        Parquet(str(tmp_path)).splits()
    for one in (str(path.parent), str(path)):  # whose folders have no column for Spark either
        source = Parquet(one)
        assert next(source.read(source.splits()[0])).columns["labels"].tolist() == [7]


@pytest.mark.parametrize("features", ["binary", "int"])
def test_dictionaries_are_decoded(tmp_path, features):
    column = {"binary": FEATURES["binary"], "int": LABELS["int"]}[features]
    table = pa.table({"features": column.dictionary_encode(), "label": LABELS["int"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    source = Parquet(str(tmp_path))
    batch = Batch.concat([batch for split in source.splits() for batch in source.read(split)])
    np.testing.assert_array_equal(batch.features, {"binary": X, "int": Y}[features])


def test_a_null_is_named(tmp_path):
    path = f"{tmp_path}/a.parquet"
    table = pa.table({"features": [[1.0], [2.0], [3.0], None], "label": [0, 0, 0, 0]})
    pq.write_table(table, path, row_group_size=2)
    with pytest.raises(DataError, match=rf"^{path}, row group 1, record 1: column 'features' must"):
        read(Parquet(path), Schema(features=(1,), labels="class", label_size=1))


def test_a_record_that_does_not_fit_is_named(tmp_path):
    path = write(tmp_path / "a.parquet")
    schema = Schema(features=(6,), labels="class", label_size=2)
    with pytest.raises(DataError, match=rf"^{path}, row group 0, record 2: label must be in"):
        read(Parquet(path), schema)


def test_uneven_lists_are_refused_with_the_cure(tmp_path):
    rows = {"features": [[1.0, 2.0], [1.0]], "label": [0, 1]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    message = "record 1: column 'features' must have 2 numbers as in the records before, got 1; pad"
    with pytest.raises(DataError, match=message + " them .* a DataFrame, as of spark.read.parquet"):
        read(Parquet(str(tmp_path)))
    rows = {"features": [[[1.0], [2.0]], [[1.0], [2.0, 3.0]]], "label": [0, 1]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="record 1: column .* as in the records before, got 2$"):
        read(Parquet(str(tmp_path)))  # the steps of a sequence cannot differ


def test_what_is_no_parquet_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("no such format, though long enough for a footer")
    with pytest.raises(DataError, match=f"^{path}: cannot be read as Parquet"):
        Parquet(str(path)).splits()


@pytest.mark.parametrize("keep", [0, 3, 100, -5])
def test_what_is_cut_short_is_named(tmp_path, keep):
    path = tmp_path / "a.parquet"
    write(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=f"^{path}: cannot be read as Parquet"):
        Parquet(str(path)).splits()


def test_a_damaged_row_group_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    source = Parquet(write(path))
    splits, content = source.splits(), path.read_bytes()
    path.write_bytes(b"PAR1" + b"\xff" * 200 + content[204:])
    with pytest.raises(DataError, match=f"^{path}: cannot be read as Parquet"):
        list(source.read(splits[0]))


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}/none: there is no such file"):
        Parquet(f"{tmp_path}/none").splits()


def test_a_folder_without_parquet_is_named(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(DataError, match=f"^{tmp_path}: must hold files that end in .parquet"):
        Parquet(str(tmp_path)).splits()


def test_an_empty_column_name_is_refused():
    with pytest.raises(ConfigError, match="Parquet.features must be the name of a column"):
        Parquet("a", features="")


def test_a_footer_is_read_once_while_the_file_stays(tmp_path, monkeypatch):
    known = []

    def opened(content, metadata=None, **options):
        known.append(metadata is not None)
        return pq.ParquetFile(content, metadata=metadata, **options)

    monkeypatch.setattr("sparkdl.data.readers.tables.parquet.ParquetFile", opened)
    path = write(tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(Parquet(path)).features.reshape(10, 6), X)
    assert known == [False, *[True] * 6]  # each row group is opened for its first record, too
    write(tmp_path / "a.parquet", rows=slice(5, 10), group=3)  # replaces the file
    np.testing.assert_array_equal(read(Parquet(path)).features.reshape(5, 6), X[5:])
    assert known[7:] == [False, *[True] * 4]


CHANGED = {  # rows and row group size of the new file, and the error
    "fewer groups": (
        slice(10),
        5,
        "a.parquet: must have 3 row groups, got 2; was it changed since",
    ),
    "more groups": (slice(10), 2, "a.parquet: must have 3 row groups, got 5; was it changed since"),
    "other groups": (slice(9), 3, "row group 0: must have 4 records, got 3; was it changed since"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_changed_file_is_noticed(tmp_path, case):
    rows, group, message = CHANGED[case]
    source = Parquet(write(tmp_path / "a.parquet"))
    splits = source.splits()
    write(tmp_path / "a.parquet", rows=rows, group=group)
    with pytest.raises(DataError, match=message):
        [list(source.read(split)) for split in splits]


def test_row_groups_lie_about_where_the_footer_says(tmp_path):
    """Within a tenth of the file, near enough to ask Spark for the hosts that hold them."""
    path, rng = tmp_path / "a.parquet", np.random.default_rng(0)
    features = pa.array(rng.normal(size=(900, 30)).tolist())
    table = pa.table({"features": features, "label": pa.array(np.zeros(900, int))})
    pq.write_table(table, path, row_group_size=250)
    metadata, size = pq.read_metadata(path), path.stat().st_size
    spans = [split.spans()[0][1:] for split in Parquet(str(path)).splits()]
    assert len(spans) == 4 and spans[0][0] == 0 and spans[-1][1] == size
    for number, (start, stop) in enumerate(spans):
        column = metadata.row_group(number).column(0)
        assert start == pytest.approx(column.dictionary_page_offset, abs=size / 10)
        assert stop == pytest.approx(
            column.dictionary_page_offset + metadata.row_group(number).total_byte_size,
            abs=size / 10,
        )
