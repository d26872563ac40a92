"""Sources as DataFrames hold the records that the reader takes, for every kind of file name."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from sparkdl.data import Batch, Parquet
from sparkdl.errors import DataError
from sparkdl.spark.records.data_frames import (
    folder_columns,
    parquet_frame,
    require_fitting_types,
    uri,
)
from sparkdl.spark.records.source_frame import as_frame

NAMES = [
    *["a b", "é", "a%20b", "100%", "a#b", "a[1]", "a{b,c}", "a*", "a?", "a\\b"],
    *["]", "}", "a:b", "a::b", "a,b", "a^"],
]
TREES = {  # {file: {partition column: value} of its folders}
    "nested": {"a.parquet": {}, "b/c.parquet": {}, "b/d/e.PARQUET": {}},
    "of columns": {"_day=1/k=x/a.parquet": {"_day": 1, "k": "x"}, "_day=2/k=y/b.parquet": {}},
    "below those of columns": {"day=1/a/b.parquet": {"day": 1}, "day=2/c.parquet": {"day": 2}},
    "of columns below others": {"a/d=1/b.parquet": {"d": 1}, "a/d=2/c.parquet": {"d": 2}},
    "mixed": {"a.parquet": {}, "day=1/b.parquet": {"day": 1}, "c/day=2/d.parquet": {"day": 2}},
    "in part hidden": {"a.parquet": {}, "_b/c.parquet": None, ".d.parquet": None, "e.txt": None},
    "of columns, in part hidden": {"k=1/a.parquet": {"k": 1}, "k=2/b.txt": None, "_k/c": None},
}
TREES["of columns"]["_day=2/k=y/b.parquet"] = {"_day": 2, "k": "y"}


def write(path, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"features": [[float(number)]], "number": [number]}), path)


def file_of(name):
    """Hadoop's checksums allow ":" in names of folders but not of files."""
    return f"{name.replace(':', '')}.parquet"


def numbers(frame):
    return sorted(row.number for row in frame.select("number").collect())


@pytest.mark.parametrize("tree", TREES)
def test_all_files_that_the_reader_takes_are_in_the_frame(spark, tmp_path, tree):
    wanted = {}
    for number, (name, values) in enumerate(TREES[tree].items()):
        write(tmp_path / name, number)
        wanted |= {} if values is None else {number: values}
    frame = as_frame(spark, Parquet(str(tmp_path), label=None), None).frame
    found = [row.asDict() for row in frame.drop("features").collect()]
    columns = {name: None for values in wanted.values() for name in values}
    assert {row.pop("number"): row for row in found} == {n: columns | v for n, v in wanted.items()}
    assert len(found) == len(wanted)
    source = Parquet(str(tmp_path), features="number", label=None)
    batch = Batch.concat([batch for split in source.splits() for batch in source.read(split)])
    np.testing.assert_array_equal(np.sort(batch.features), sorted(wanted))


def table(number, features, label, **others):
    columns = {"features": pa.array([[number, 1]], features), "label": pa.array([1], label)}
    return pa.table(columns | {name: pa.array([value]) for name, value in others.items()})


def test_numbers_of_several_types_have_the_widest(spark, tmp_path):
    """As in fits; Spark itself applies the types of one file to all."""
    single, double = pa.list_(pa.float32()), pa.list_(pa.float64())
    large = 2**40 + 1.0
    (tmp_path / "c").mkdir()
    pq.write_table(table(0.5, single, pa.int32(), z=None, s={"a": 1}), tmp_path / "a.parquet")
    pq.write_table(
        table(large, double, pa.int64(), z="x", s={"b": "y", "a": 1.5}), tmp_path / "b.parquet"
    )
    pq.write_table(table(7, pa.list_(pa.int16()), pa.int32()), tmp_path / "c/d.parquet")
    frame = as_frame(spark, Parquet(str(tmp_path)), None).frame
    found = {tuple(row.features): (row.label, row.z, row.s) for row in frame.collect()}
    assert found == {
        (0.5, 1.0): (1, None, (1.0, None)),
        (large, 1.0): (1, "x", (1.5, "y")),
        (7.0, 1.0): (1, None, None),
    }


def test_folders_whose_name_is_null_fit_to_all(spark, tmp_path):
    write(tmp_path / "k=__HIVE_DEFAULT_PARTITION__/a.parquet", 0)
    one = pa.table({"features": pa.array([[1.0]], pa.list_(pa.float32())), "number": [1]})
    (tmp_path / "k=2").mkdir()
    pq.write_table(one, tmp_path / "k=2/b.parquet")
    frame = parquet_frame(spark, str(tmp_path))
    assert {row.number: row.k for row in frame.collect()} == {0: None, 1: 2}


@pytest.mark.parametrize("names", ["zz", "zZ"])  # Spark treats both as one column
def test_columns_that_do_not_fit_together_are_named(spark, tmp_path, names):
    for file, name, value in zip("ab", names, [1, "1"], strict=True):
        one = table(0, pa.list_(pa.float32()), pa.int32(), **{name: value})
        pq.write_table(one, tmp_path / f"{file}.parquet")
    message = (
        f"{tmp_path}/b.parquet: column {names[1]!r} must be bigint, as in {tmp_path}/a.parquet, or "
        "numbers in both, got string"
    )
    with pytest.raises(DataError, match=message):
        as_frame(spark, Parquet(str(tmp_path)), None)


@pytest.mark.parametrize("kind", [pa.float16(), pa.list_(pa.float16())], ids=str)
def test_a_column_that_spark_cannot_read_is_named(spark, tmp_path, kind):
    value = np.float16(1) if kind == pa.float16() else [np.float16(1)]
    one = table(0, pa.list_(pa.float32()), pa.int32())
    pq.write_table(one.append_column("z", pa.array([value], kind)), tmp_path / "a.parquet")
    message = f"{tmp_path}/a.parquet: column 'z' must be of a type that Spark has, got .*halffloat"
    with pytest.raises(DataError, match=message):
        as_frame(spark, Parquet(str(tmp_path)), None)


def test_columns_whose_case_differs_are_two_where_spark_is_told_so(spark, tmp_path):
    for name, value in {"zz": 1, "zZ": "1"}.items():
        one = table(0, pa.list_(pa.float32()), pa.int32(), **{name: value})
        pq.write_table(one, tmp_path / f"{name}.parquet")
    before = spark.conf.get("spark.sql.caseSensitive")
    spark.conf.set("spark.sql.caseSensitive", "True")
    try:
        frame = as_frame(spark, Parquet(str(tmp_path)), None).frame
        assert {(row.zz, row.zZ) for row in frame.collect()} == {(1, None), (None, "1")}
    finally:
        spark.conf.set("spark.sql.caseSensitive", before)


def struct(**fields):
    return StructType([StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    "kinds, wrong",
    [
        ([struct(a=LongType()), struct(a=LongType(), b=StringType())], False),
        ([struct(a=LongType()), struct(b=LongType()), struct(b=StringType())], True),
        ([ArrayType(LongType()), ArrayType(ArrayType(LongType()))], True),
        ([ArrayType(StringType()), ArrayType(StringType(), containsNull=False)], False),
    ],
)
def test_each_type_is_compared_with_all_before(kinds, wrong):
    frames = {f"{i}": SimpleNamespace(schema=struct(z=kind)) for i, kind in enumerate(kinds)}
    with pytest.raises(DataError, match="column 'z'") if wrong else nullcontext():
        require_fitting_types(frames, case_sensitive=False)


def test_names_of_folders_and_files_are_taken_as_they_are(spark, tmp_path):
    """The names stand side by side because one may be another's pattern or URL encoding."""
    for number, name in enumerate(NAMES):
        write(tmp_path / name / file_of(name), number)
    for number, name in enumerate(NAMES):
        for path in (tmp_path / name, tmp_path / name / file_of(name)):
            assert numbers(parquet_frame(spark, str(path))) == [number], path
    assert numbers(parquet_frame(spark, f"file:{tmp_path}/")) == list(range(len(NAMES)))


@pytest.mark.parametrize("name", ["a b", "é", "a%20b", "a#[b]", "a::b"])
def test_what_is_written_has_the_name_that_was_given(spark, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    spark.range(3).write.parquet(uri(name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert pq.read_table(tmp_path / name).num_rows == 3


def test_a_single_file_gets_no_columns_of_its_folders(spark, tmp_path):
    write(tmp_path / "day=1/a.parquet", 7)
    for path in ("day=1/a.parquet", "day=1"):
        frame = parquet_frame(spark, f"{tmp_path}/{path}")
        assert frame.columns == ["features", "number"] and numbers(frame) == [7]


@pytest.mark.parametrize("folder", ["{}", "k={}"])
def test_many_files_are_read(spark, tmp_path, folder):
    write(tmp_path / "0.parquet", 1)
    content = (tmp_path / "0.parquet").read_bytes()
    for i in range(1, 300):
        path = tmp_path / folder.format(i % 7) / f"{i}.parquet"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert parquet_frame(spark, str(tmp_path)).coalesce(2).count() == 300


@pytest.mark.parametrize("path", ["hdfs://nn/a", "hdfs:/a%20b", "s3a://bucket/a b"])
def test_uris_stay_as_they_are(path):
    assert uri(path) == path


@pytest.mark.parametrize(
    "file, found",
    [
        ("c.parquet", ("", ())),
        ("a/day=1/k=2/b/c.parquet", ("a", ("day", "k"))),
        ("h=1/a/k=2/c.parquet", ("h=1/a", ("k",))),
        ("a/k=2.parquet", ("", ())),
    ],
)
def test_columns_of_folders_are_found_as_spark_finds_them(file, found):
    assert folder_columns("hdfs://nn/day=3/", f"hdfs://nn/day=3/{file}") == found
