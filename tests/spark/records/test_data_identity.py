"""Which RDDs and DataFrames share an identity, differ, or have none."""

import gc
import os
import time

import pytest
from pyspark.sql import functions as F

from sparkdl.data.records.changes import PartByHash
from sparkdl.spark import SparkNetwork
from sparkdl.spark.records import data_identity
from sparkdl.spark.records.data_identity import identify, is_gone, tell_doubt
from sparkdl.spark.records.records import SparkRecords, records_to_evaluate
from sparkdl.training.inputs.schema import schema_of
from tests.spark.networks import arrays, plain

SCHEMA = schema_of(plain())
ROW = ([0.0] * 6, 1)
TYPES = "features array<float>, label int"  # pyspark 4.0 keeps the frame alive when it infers types


def identity(data, schema=SCHEMA, **columns):
    return identify(SparkRecords(data, **columns), schema)


def rdd(spark, *_):
    return spark.sparkContext.parallelize([ROW] * 4, 2)


def mapped(spark, *_, factors=(1,)):
    return rdd(spark).map(lambda row: (row[0], factors[0] * row[1]))


def frame(spark, *_):
    return spark.createDataFrame([ROW, ROW], TYPES)


def folder(spark, path, rows=2):
    frame(spark).limit(rows).coalesce(1).write.mode("overwrite").parquet(f"file://{path}/a b%")
    return f"file://{path}/a b%"


def files(spark, path):
    return spark.read.parquet(folder(spark, path))


def text(spark, path):
    (path / "text").write_text("a\nb\n")
    return spark.sparkContext.textFile(f"file://{path}/text", 2).map(len)


def of_range(spark, *_):
    return spark.range(8).select(
        F.array([F.col("id").cast("float")] * 6).alias("features"), F.lit(1).alias("label")
    )


def opened(row):
    with open("/dev/null") as file:
        return [float(len(file.read()))] * 6


def of_function(function):
    def over(spark, *_):
        features = F.udf(function, "array<float>")("id")
        return spark.range(4).select(features.alias("features"), F.lit(1).alias("label"))

    return over


def over_tables(function):
    def compute(tables):
        yield from map(function, tables)

    return lambda spark, path: of_range(spark).mapInArrow(compute, TYPES)


KNOWN = {
    "RDD": rdd,
    "RDD of a function": mapped,
    "RDD of lines": text,
    "RDD of a DataFrame": lambda spark, _: frame(spark).rdd,
    "RDD of files": lambda spark, path: files(spark, path).rdd,
    "union": lambda spark, path: rdd(spark).union(text(spark, path)),
    "DataFrame": frame,
    "DataFrame of an RDD": lambda spark, _: spark.createDataFrame(rdd(spark), TYPES),
    "range": of_range,
    "files": files,
    "cached": lambda spark, _: computed(of_range(spark).cache()),
    "joined": lambda spark, path: files(spark, path).join(of_range(spark), "label", "left_semi"),
    "Python function": of_function(lambda row: [float(row)] * 6),
    "Python function of tables": over_tables(abs),
    "cached rows of a function that reads": lambda spark, _: computed(
        of_function(opened)(spark).cache()
    ),
    "predictions": lambda spark, _: SparkNetwork(spark, plain()).predict(frame(spark)),
    "source": lambda *_: arrays(),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_the_same_data_has_the_same_identity(kind, spark, tmp_path):
    data = KNOWN[kind](spark, tmp_path)
    assert identity(data) is not None
    assert identity(data) == identity(data)
    assert not is_gone(identity(data))
    assert identity(data, schema_of(plain(input_shape=(5,)))) != identity(data)
    part = PartByHash(share=0.5, seed=1, columns=("features",), drawn=True)
    assert identity(data, schema_of(plain(), changes=(part,))) != identity(data)
    if kind not in ("RDD", "source"):
        assert identity(data, weights="label") != identity(data)
    if kind.startswith("cached"):
        data.unpersist()


def test_records_that_may_lack_weights_are_not_those_that_have_them(spark):
    """A fit with weights of an RDD without them took what was kept of it as validation data."""
    data, schema = rdd(spark), schema_of(plain())

    def of_evaluation(weights):
        return identify(records_to_evaluate(data, "features", "label", None, weights), schema)

    assert of_evaluation(None) == identify(SparkRecords(data), schema)
    assert of_evaluation("w") == of_evaluation("w")
    assert of_evaluation("w") != identify(SparkRecords(data, weights="w"), schema)


EQUAL = {
    "a DataFrame of the same values": lambda spark, path: (of_range(spark), of_range(spark)),
    "a DataFrame of the same files": lambda spark, path: [
        spark.read.parquet(place) for place in [folder(spark, path)] * 2
    ],
    "a DataFrame with a column more": lambda spark, path: (
        of_range(spark),
        of_range(spark).withColumn("more", F.lit(2)).drop("more"),
    ),
}
OTHER = {
    "an RDD of the same values": lambda spark, path: (rdd(spark), rdd(spark)),
    "a function more": lambda spark, path: (one := rdd(spark), one.map(tuple)),
    "rows of another RDD": lambda spark, path: (frame(spark), frame(spark)),
    "a filter": lambda spark, path: (of_range(spark), of_range(spark).filter("features[0] > 1")),
    "a range of another size": lambda spark, path: (
        of_range(spark),
        of_range(spark).limit(3),
    ),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_data(case, spark, tmp_path):
    one, other = map(identity, EQUAL[case](spark, tmp_path))
    assert one is not None
    assert one == other


@pytest.mark.parametrize("case", OTHER)
def test_other_data(case, spark, tmp_path):
    one, other = map(identity, OTHER[case](spark, tmp_path))
    assert None not in (one, other)
    assert one != other


def touch(spark, path):
    os.utime(next(path.glob("*/*.parquet")))


def append(spark, path):
    frame(spark).write.mode("append").parquet(f"file://{path}/a b%")


def remove(spark, path):
    next(path.glob("*/*.parquet")).unlink()


@pytest.mark.parametrize("change", [touch, append, remove])
@pytest.mark.parametrize("read_again", [False, True], ids=["same object", "read again"])
def test_changed_files(change, read_again, spark, tmp_path):
    data = files(spark, tmp_path)
    before = identity(data)
    change(spark, tmp_path)
    if read_again:
        data = spark.read.schema(data.schema).parquet(f"file://{tmp_path}/a b%")
    same_files = change is append and not read_again  # Spark does not look for new files
    assert (identity(data) == before) == same_files


def computed(data):
    """Makes Spark compute a whole cached DataFrame."""
    data.count()
    return data


def cache_again(data, path):
    data.unpersist()
    data.cache()


def refresh(data, path):
    data.sparkSession.catalog.refreshByPath(f"file://{path}/a b%")


@pytest.mark.parametrize("renew", [cache_again, refresh])
def test_rows_that_are_cached_again_may_be_of_other_files(renew, spark, tmp_path):
    """Spark has read the files once, whatever they contain by now."""
    data = files(spark, tmp_path).cache()
    assert identity(data) is None  # finding out would compute it
    before = identity(computed(data))
    assert identity(data.filter("label > 0")) == identity(data.filter("label > 0")) != before
    renew(data, tmp_path)
    after = identity(computed(data))
    data.unpersist()
    assert None not in (before, after)
    assert identity(data) not in (before, after)
    assert before != after


def lines(spark, path):
    found = spark.read.schema("x float, label int").csv(f"file://{path}/lines")
    return found.selectExpr("array(x, x, x, x, x, x) features", "label")


def test_files_that_have_grown_since_spark_listed_them(spark, tmp_path):
    """Spark reads as many bytes as it has listed, until it lists them again."""
    (tmp_path / "lines").write_text("1,1\n" * 2)
    data = lines(spark, tmp_path)
    (tmp_path / "lines").write_text("1,1\n" * 3)
    before = identity(data)
    assert None is not before == identity(data)
    assert identity(lines(spark, tmp_path)) != before


def test_persisted_rows_may_be_of_earlier_files(spark, tmp_path):
    data = text(spark, tmp_path)
    before = identity(data)
    data.persist()
    assert before is not None is identity(data) is identity(data.map(float))
    data.unpersist()
    assert identity(data) == before
    cached = files(spark, tmp_path).cache()
    assert identity(cached.rdd) is None
    cached.unpersist()


@pytest.fixture
def table(spark):
    frame(spark).write.mode("overwrite").saveAsTable("of_identity")
    yield "of_identity"
    spark.sql("drop table of_identity")


CHANGES = {
    "inserted": "insert into {} select features, 2 from {}",
    "overwritten": "insert overwrite {} values (array(1f, 1f, 1f, 1f, 1f, 1f), 2)",
    "emptied": "truncate table {}",
    "a column more": "alter table {} add column more int",
}


@pytest.mark.parametrize("case", CHANGES)
def test_tables(case, table, spark):
    before = identity(spark.table(table))
    assert None is not before == identity(spark.table(table))
    spark.sql(CHANGES[case].format(table, table))
    assert identity(spark.table(table)) != before


def test_changed_lines(spark, tmp_path):
    data = text(spark, tmp_path)
    before = identity(data)
    assert identity(data) == before
    (tmp_path / "text").write_text("c\nd\n")
    assert identity(data) != before


def test_a_function_with_other_values(spark):
    factors = [1]
    data = mapped(spark, factors=factors)
    before = identity(data)
    factors[0] = 2
    assert identity(data) != before
    factors[0] = 1
    assert identity(data) == before


def test_another_setting_may_make_other_partitions(spark):
    data, setting = of_range(spark), "spark.sql.files.maxPartitionBytes"
    before = identity(data)
    spark.conf.set(setting, "1m")
    assert identity(data) != before
    spark.conf.unset(setting)
    assert identity(data) == before


UNKNOWN = {
    "an RDD of a function that reads": lambda spark, _: rdd(spark).map(opened),
    "a function that reads, below others": lambda spark, _: (
        rdd(spark).map(opened).groupByKey().map(tuple)
    ),
    "a DataFrame of such an RDD": lambda spark, _: spark.createDataFrame(
        rdd(spark).map(opened), TYPES
    ),
    "a DataFrame of a function that reads": of_function(opened),
    "the RDD of such a DataFrame": lambda spark, path: of_function(opened)(spark).rdd,
    "a function of tables that reads": over_tables(opened),
    "random": lambda spark, path: of_range(spark).filter(F.rand() < 0.5),
    "subquery": lambda spark, path: of_range(spark).filter(
        "label = (select max(id) from range(2))"
    ),
    "whole files": lambda spark, path: spark.sparkContext.wholeTextFiles(folder(spark, path)),
    "no file": lambda spark, path: spark.sparkContext.textFile(f"file://{path}/none"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_known_has_none(case, spark, tmp_path):
    assert identity(UNKNOWN[case](spark, tmp_path)) is None


def test_the_time_of_day_changes(spark):
    label = F.current_timestamp().cast("double")
    data = of_range(spark).withColumn("label", label)
    assert identity(data) is not None
    assert identity(data) != identity(data)


HELD_BY_DRIVER = ("RDD", "DataFrame", "DataFrame of an RDD")


@pytest.mark.parametrize("kind", [*HELD_BY_DRIVER, "files", "range"])
def test_records_of_the_driver_go_with_their_object(kind, spark, tmp_path):
    found = identity(KNOWN[kind](spark, tmp_path))
    gc.collect()
    assert is_gone(found) == (kind in HELD_BY_DRIVER)


def test_long_lineages_are_not_followed(spark, monkeypatch):
    monkeypatch.setattr(data_identity, "MOST_RDDS", 2)
    assert identity(rdd(spark)) is not None
    assert identity(mapped(spark).union(rdd(spark))) is None


def test_telling_why_rows_are_read_again_leaves_later_actions_their_cache(spark):
    now = F.udf(lambda row: [time.time()] * 6, "array<double>")
    data = frame(spark).withColumn("features", now("features"))
    assert tell_doubt(SparkRecords(data)) == data_identity.MAY_DIFFER
    data.cache()
    try:
        data.count()
        assert data.collect() == data.collect()
    finally:
        data.unpersist()
