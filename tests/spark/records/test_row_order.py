"""Rows that a shuffle delivers come in a fixed order, those that their user sorted in his."""

from itertools import chain

import numpy as np
import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from sparkdl.spark.records.row_order import fix_order, is_in_order, is_unordered
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging

COUNT, ROWS = 60, "id long, features array<float>, label int"


def rows_of(spark, order=range(COUNT)):
    """Returns records in an order of their ids, in two partitions."""
    rows = [(k, [float(k % 7), float(k % 5), float(k % 3)], k % 4) for k in order]
    return spark.createDataFrame(rows, ROWS).coalesce(2)


def small(spark):
    return F.broadcast(
        spark.createDataFrame([(k, f"name {k}") for k in range(4)], "label int, n string")
    )


def view(spark, frame):
    frame.createOrReplaceTempView("of_rows")
    return spark.sql("select id, features, label from of_rows where label > 0")


def query(spark, frame, text):
    """Returns the rows of a query in SQL, in which {0} are those of the frame."""
    frame.createOrReplaceTempView("of_rows")
    return spark.sql(text.format("of_rows"))


WITH = "with few as (select * from {{0}} {}) select * from few {}"
NARROWED = "select * from (select * from {{0}} {}) where id in (select id from {{0}} {})"
IN_SQL = {
    "a WITH of sorted rows": WITH.format("order by id", "distribute by label"),
    "a WITH that is read twice": WITH.format(
        "where rand() < 2 order by id", "where id in (select id from few)"
    ),
    "narrowed by sorted rows": NARROWED.format("distribute by label", "order by id"),
}
SORTED_IN_SQL = {
    "sorted after a WITH": WITH.format("distribute by label", "order by id"),
    "sorted, then narrowed": NARROWED.format("order by id", "distribute by label"),
    "sorted in a WITH": WITH.format("order by id", ""),
}


SPREAD = {
    "by a number": lambda data, _: data.repartition(3),
    "by a column": lambda data, _: data.repartition(3, "label"),
    "by range": lambda data, _: data.repartitionByRange(3, "id"),
    "rebalanced": lambda data, _: data.hint("rebalance"),
    "filtered": lambda data, _: data.repartition(3).filter("id > 3").select("features", "label"),
    "named": lambda data, _: data.repartition(3).alias("other"),
    "distinct": lambda data, _: data.dropDuplicates(["id"]),
    "grouped": lambda data, _: data.groupBy("id").agg(F.first("features"), F.first("label")),
    "joined": lambda data, _: data.join(data.select("id").hint("merge"), "id"),
    "spread after sorting": lambda data, _: data.orderBy("id").repartition(3),
    "cached": lambda data, _: data.repartition(3).cache(),
    "a column's name in lines": lambda data, _: data.repartition(3).toDF("a", "b", "c\nSort d"),
    "a text in lines": lambda data, _: data.repartition(3).withColumn("a", F.lit("b\nSort [c]")),
    "of an RDD": lambda data, spark: spark.createDataFrame(data.rdd.repartition(3), ROWS),
}
FIXED = {
    "as given": lambda data, _: data,
    "fewer partitions": lambda data, _: data.coalesce(1),
    "a broadcast join": lambda data, spark: data.join(small(spark), "label"),
    "sorted": lambda data, _: data.orderBy("id"),
    "sorted by partition": lambda data, _: data.repartition(3).sortWithinPartitions("id"),
    "sorted, then fewer columns": lambda data, _: data.orderBy("id").drop("id").filter("label > 0"),
    "cached": lambda data, _: data.cache(),
    "a column named as a shuffle": lambda data, _: data.withColumnRenamed("id", "Exchange"),
    "a text named as a shuffle": lambda data, _: data.withColumn("from", F.lit("Exchange 1")),
    "sorted, with a hint": lambda data, _: data.orderBy("id").hint("broadcast"),
    "sorted and cached": lambda data, _: data.orderBy("id").cache(),
    "a view of what is sorted": lambda data, spark: view(spark, data.orderBy("id")),
    "observed after sorting": lambda data, _: data.orderBy("id").observe("o", F.count("id")),
    "an RDD": lambda data, spark: spark.createDataFrame(data.rdd, ROWS),
}


KEYS = [(k % 5, [k, k + 1.0]) for k in range(COUNT)]
ARRIVED = {
    "spread": lambda rdd: rdd.repartition(3),
    "by key": lambda rdd: rdd.partitionBy(3),
    "grouped": lambda rdd: rdd.groupByKey(3),
    "sorted by Python": lambda rdd: rdd.sortByKey(numPartitions=3),
    "computed from what is spread": lambda rdd: rdd.repartition(3).mapValues(tuple).map(len),
    "joined": lambda rdd: rdd.join(rdd),
}
IN_ORDER = {
    "as given": lambda rdd: rdd,
    "computed": lambda rdd: rdd.mapValues(tuple).filter(bool),
    "fewer partitions": lambda rdd: rdd.coalesce(1),
    "joined end to end": lambda rdd: rdd.union(rdd),
    "paired": lambda rdd: rdd.zip(rdd),
}


@pytest.fixture(autouse=True)
def nothing_stays_cached(spark):
    yield
    spark.catalog.clearCache()


@pytest.mark.parametrize("kind", SPREAD)
def test_rows_of_a_shuffle_are_sorted(kind, spark):
    assert is_unordered(SPREAD[kind](rows_of(spark), spark))


@pytest.mark.parametrize("kind", FIXED)
def test_rows_in_order_are_not(kind, spark):
    given = FIXED[kind](rows_of(spark), spark)
    assert not is_unordered(given)
    assert fix_order(given) is given


@pytest.mark.parametrize("kind", IN_SQL)
def test_a_query_that_sorts_only_what_it_names_is_sorted(kind, spark):
    assert is_unordered(query(spark, rows_of(spark), IN_SQL[kind]))


@pytest.mark.parametrize("kind", SORTED_IN_SQL)
def test_a_query_that_sorts_is_not(kind, spark):
    assert not is_unordered(query(spark, rows_of(spark), SORTED_IN_SQL[kind]))


@pytest.mark.parametrize("kind", [*ARRIVED, *IN_ORDER])
def test_rdds_of_a_shuffle_are_known(kind, sc):
    made = (ARRIVED | IN_ORDER)[kind](sc.parallelize(KEYS, 4))
    assert is_in_order(made) == (kind in IN_ORDER)
    assert is_in_order(made.persist()) == (kind in IN_ORDER)
    made.unpersist()


def test_a_plan_whose_text_is_cut_may_shuffle(spark):
    setting = "spark.sql.maxPlanStringLength"
    before = spark.conf.get(setting)
    try:
        for length in (200, 800, 1000):
            spark.conf.set(setting, str(length))
            assert is_unordered(rows_of(spark).repartition(3).select("features", "label"))
    finally:
        spark.conf.set(setting, before)


def test_rows_of_one_hash_come_in_one_order(spark):
    """Spark chains the hashes of columns and leaves nulls out."""
    rows = [([1, 2], [3]), ([1], [2, 3]), ([None, 1], [7]), ([1, None], [7])] * 5
    arrivals = []
    for order in (rows, rows[::-1]):
        data = spark.createDataFrame(order, "a array<int>, b array<int>").coalesce(2)
        arrivals.append(fix_order(data.repartition(2, F.lit(1))).collect())
    assert arrivals[0] == arrivals[1]


@pytest.mark.parametrize("column", ["features", "vector"])
def test_rows_come_in_one_order_however_they_arrive(column, spark):
    arrivals = []
    for order in (range(COUNT), reversed(range(COUNT))):
        data = rows_of(spark, order)
        data = data.withColumn("vector", array_to_vector("features"))
        spread = data.repartition(3, "label").select("id", column)
        arrivals.append((spread.rdd.glom().collect(), fix_order(spread).rdd.glom().collect()))
    (first, first_fixed), (second, second_fixed) = arrivals
    assert first != second  # so there is something to mend
    assert first_fixed == second_fixed
    assert sorted(chain(*first_fixed)) == sorted(chain(*first))


def spread_pairs(data):
    """Returns an RDD of (features, label) whose partitions follow the label."""
    pairs = data.rdd.map(lambda row: (row.label, row.features))
    return pairs.partitionBy(2).map(lambda pair: pair[::-1])


@pytest.mark.parametrize("aggregation", ["driver", "peers"])
@pytest.mark.parametrize("spread", [lambda data: data.repartition(2, "label"), spread_pairs])
def test_a_fit_has_the_same_weights_however_rows_arrive(spread, aggregation, spark):
    ends = []
    for order in (range(COUNT), reversed(range(COUNT))):
        data = spread(rows_of(spark, order))
        conf = NetworkConf(layers=[Dense(units=5), Output(units=4)], input_shape=(3,), seed=2)
        master = ParameterAveraging(workers=2, batch_size_per_worker=4, aggregation=aggregation)
        fitted = SparkNetwork(spark, conf, master)
        fitted.fit(data, epochs=1)
        ends.append(np.array(fitted.network.state.params))
    np.testing.assert_array_equal(*ends)
