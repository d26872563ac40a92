"""Column names that Spark treats as equal because it ignores case."""

import pytest
from pyspark.sql import functions as F

from sparkdl.errors import ConfigError, DataError, NoRecords, NothingToEvaluate
from sparkdl.ml import SparkNetworkClassifier
from tests.ml.conftest import SMALL
from tests.ml.frames import classes_conf
from tests.support.bus import told_all
from tests.training.models import assert_equal

OPTIONS = {"weightCol": "w", "validationIndicatorCol": "apart", **SMALL}
CASES = "spark.sql.caseSensitive"
CLASHES = ["Features", "LABEL", "W", "Apart"]


@pytest.fixture
def case_sensitive(spark):
    spark.conf.set(CASES, "true")
    yield
    spark.conf.unset(CASES)


def beside(data, name):
    return data.select("*", F.col("id").alias(name))


@pytest.mark.parametrize("name", CLASHES)
def test_two_columns_that_are_one_to_spark_are_refused_before_any_job(name, data, sc):
    sc.setJobGroup("clashes", "")
    one = SparkNetworkClassifier(network=classes_conf(), **OPTIONS)
    with pytest.raises(ConfigError, match=f"got .'{name.lower()}', '{name}'.; rename or drop the"):
        one.fit(beside(data, name))
    assert not told_all(sc).statusTracker().getJobIdsForGroup("clashes")
    sc.setLocalProperty("spark.jobGroup.id", None)


def test_a_column_that_is_there_twice_sets_no_rows_apart(data):
    one = SparkNetworkClassifier(network=classes_conf(), **OPTIONS)
    with pytest.raises(DataError, match="column 'apart' must be there once, got 2"):
        one.fit(beside(data, "apart"))


def test_an_evaluation_refuses_them_too(classified, indexed):
    with pytest.raises(ConfigError, match="column 'index' must differ .* got .'index', 'INDEX'."):
        classified.evaluate(beside(indexed, "INDEX"))


def test_weights_in_another_case_are_not_taken_for_none(classified, indexed, spark):
    other = indexed.toDF(*("W" if name == "w" else name for name in indexed.columns))
    with pytest.raises(DataError, match="has no column 'w'; .* did you mean 'W'"):
        classified.evaluate(other)
    spark.conf.set(CASES, "true")
    try:
        found = classified.evaluate(other).figures()
    finally:
        spark.conf.unset(CASES)
    assert found == classified.evaluate(indexed.drop("w")).figures()


def test_they_are_two_where_spark_tells_them_apart(data, case_sensitive):
    one = SparkNetworkClassifier(network=classes_conf(), **OPTIONS)
    every = data
    for name in CLASHES:
        every = beside(every, name)
    model, expected = one.fit(every), one.fit(data)
    assert_equal(model.network.state, expected.network.state)
    assert model.evaluate(every).figures() == expected.evaluate(data).figures()


MARKS = {
    "all": ("true", NoRecords, "train on: every .* trains .* 'apart', .* false or null"),
    "none": ("false", NothingToEvaluate, "evaluate on: every .* evaluates .* 'apart', .* true"),
    "none of weight": ("w = 0", NothingToEvaluate, "weight of each is 0; .* 'apart', "),
}


@pytest.mark.parametrize("marked", MARKS)
def test_a_column_that_marks_all_rows_or_none_is_named(marked, data):
    column, kind, message = MARKS[marked]
    one = SparkNetworkClassifier(network=classes_conf(), **OPTIONS)
    with pytest.raises(kind, match=message):
        one.fit(data.withColumn("apart", F.expr(column)))


NO_ROWS = {  # where other marks would not help
    "no rows": ("id < 0", "w", NoRecords, "every partition is empty"),
    "no weights": ("true", "0 * w", NoRecords, "the weight of each is 0"),
    "no weights of ints": ("apart", "0", NoRecords, "every partition is empty"),
}


@pytest.mark.parametrize("case", NO_ROWS)
def test_marks_are_not_named_where_others_would_not_help(case, data):
    rows, weights, kind, message = NO_ROWS[case]
    weighed = data.filter(rows).withColumn("w", F.expr(weights))
    one = SparkNetworkClassifier(network=classes_conf(), **OPTIONS)
    with pytest.raises(kind, match=f"{message}$"):
        one.fit(weighed)


def test_no_column_is_named_where_none_marks_rows(data):
    one = SparkNetworkClassifier(network=classes_conf(), **SMALL)
    with pytest.raises(NoRecords, match="every partition is empty$"):
        one.fit(data.filter("id < 0"))
