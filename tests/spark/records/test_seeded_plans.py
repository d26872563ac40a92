"""Columns of stages and folds are recognized; random rows that may differ are not."""

import pytest
from pyspark import StorageLevel
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import functions as F

from sparkdl.spark.records import seeded_plans
from sparkdl.spark.records.data_identity import LOGICAL_RELATION
from tests.spark.records.test_data_identity import files, frame, identity, of_range


def drawn(data, seed=1, column=F.rand):
    return data.select("*", column(seed).alias("drawn"))


def fold(data, low=0.3, seed=1):
    """The rows that pyspark's CrossValidator trains on."""
    return drawn(data, seed).filter(~((F.col("drawn") >= low) & (F.col("drawn") < low + 0.3)))


def spread(spark):
    return of_range(spark).repartition(3)


def staged(data, invalid="error"):
    """The rows with features and labels that stages of pyspark.ml have made."""
    parts = [f"part_{place}" for place in range(6)]
    given = data.select(*(F.col("features")[n].alias(parts[n]) for n in range(6)), "label")
    assemble = VectorAssembler(inputCols=parts, outputCol="features", handleInvalid=invalid)
    index = StringIndexer(inputCol="label", outputCol="index", handleInvalid=invalid)
    made = assemble.transform(index.fit(given).transform(given))
    return made.select("features", F.col("index").alias("label"))


KNOWN = {
    "a fold": lambda spark, _: fold(of_range(spark)),
    "a fold of files": lambda spark, path: fold(files(spark, path)),
    "a fold of a DataFrame": lambda spark, _: fold(frame(spark)),
    "normal numbers": lambda spark, _: drawn(of_range(spark), column=F.randn).filter("drawn < 0"),
    "a cached fold": lambda spark, _: fold(of_range(spark)).cache(),
    "a cached fold of what is spread": lambda spark, _: fold(spread(spark)).cache(),
    "a fold of what is spread and cached": lambda spark, _: fold(spread(spark).cache()),
    "of stages": lambda spark, _: staged(of_range(spark)),
    "of stages that skip rows": lambda spark, _: staged(of_range(spark), "skip"),
    "of stages, spread": lambda spark, _: staged(of_range(spark)).repartition(2),
    "a fold of stages": lambda spark, path: fold(staged(files(spark, path))),
    "cached in memory": lambda spark, _: fold(of_range(spark)).persist(StorageLevel.MEMORY_ONLY),
}


@pytest.fixture(autouse=True)
def nothing_stays_cached(spark):
    yield
    spark.catalog.clearCache()


@pytest.mark.parametrize("kind", KNOWN)
def test_a_fold_is_known_again(kind, spark, tmp_path):
    data = KNOWN[kind](spark, tmp_path)
    assert identity(data) is not None
    assert identity(data) == identity(data)
    assert sorted(data.collect(), key=str) == sorted(data.collect(), key=str)


@pytest.mark.parametrize("cached", [False, True])
def test_the_same_fold_made_again(cached, spark):
    one, other = fold(of_range(spark)), fold(of_range(spark))
    if cached:
        one.cache()
    assert identity(one) == identity(other)


OTHER = {
    "another seed": lambda data: fold(data, seed=2),
    "another fold": lambda data: fold(data, low=0.6),
    "the rest": lambda data: drawn(data).filter("drawn >= 0.3 and drawn < 0.6"),
}


@pytest.mark.parametrize("case", OTHER)
@pytest.mark.parametrize("cached", [False, True])
def test_other_folds(case, cached, spark):
    one, other = fold(of_range(spark)), OTHER[case](of_range(spark))
    if cached:
        one.cache(), other.cache()
    assert None not in (identity(one), identity(other))
    assert identity(one) != identity(other)


def test_rows_that_are_cached_again_may_be_others(spark):
    data = fold(spread(spark)).cache()
    before = identity(data)
    assert identity(data) == before
    data.unpersist()
    assert identity(data) is None
    data.cache()
    assert identity(data) not in (None, before)


def test_rows_of_stages_of_other_files(spark, tmp_path):
    one = staged(files(spark, tmp_path))
    before = identity(one)
    frame(spark).write.mode("overwrite").parquet(f"file://{tmp_path}/a b%")
    assert identity(staged(files(spark, tmp_path))) != before != identity(one)


def opaque():
    return F.udf(lambda label: label, "int").asNondeterministic()("label")


UNKNOWN = {
    "spread": lambda spark: fold(spread(spark)),
    "sorted": lambda spark: fold(of_range(spark).sort("label")),
    "grouped": lambda spark: fold(
        of_range(spark).groupBy("label").agg(F.first("features").alias("features"))
    ),
    "an RDD that was shuffled": lambda spark: fold(
        spark.createDataFrame(frame(spark).rdd.repartition(2), frame(spark).schema)
    ),
    "spread, cached in memory": lambda spark: fold(spread(spark)).persist(StorageLevel.MEMORY_ONLY),
    "names of rows": lambda spark: of_range(spark).select("*", F.expr("uuid()").alias("drawn")),
    "numbers of rows": lambda spark: of_range(spark).select(
        "*", F.monotonically_increasing_id().alias("drawn")
    ),
    "a function below stages": lambda spark: staged(of_range(spark).withColumn("label", opaque())),
    "a fold of stages, spread": lambda spark: fold(staged(spread(spark))),
    "a function": lambda spark: drawn(of_range(spark)).withColumn("label", opaque()),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_rows_that_may_be_others_are_not_known(case, spark):
    assert identity(UNKNOWN[case](spark)) is None


OF_UNORDERED_FILES = {
    "columns and filters": (
        lambda data: data.select("features", "label").filter("label < 9"),
        True,
    ),
    "a fold": (fold, False),
    "a sample": (lambda data: data.sample(0.5, seed=1), False),
    "a limit": (lambda data: data.limit(3), False),
    "a cached sample": (lambda data: compute(data.sample(0.5, seed=1).cache()), True),
}


@pytest.mark.parametrize("name", OF_UNORDERED_FILES)
def test_tables_whose_files_come_in_any_order(name, spark, tmp_path, monkeypatch):
    """The reader of files stands in for a catalog's table, such as one of Iceberg."""
    change, is_known = OF_UNORDERED_FILES[name]
    made = change(files(spark, tmp_path))
    assert identity(made) is not None
    monkeypatch.setattr(seeded_plans, "TABLE", LOGICAL_RELATION)
    assert (identity(made) is not None) == is_known


def compute(data):
    data.count()
    return data
