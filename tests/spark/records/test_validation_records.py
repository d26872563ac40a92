"""Validation records: read once per fit, kept for the next, dealt out like batches of an RDD."""

import shutil

import pytest

from sparkdl.data.record_store import write_records
from sparkdl.data.stored_batches import StoredBatches
from sparkdl.errors import DataError
from sparkdl.spark import SparkNetwork, clear_kept_data
from sparkdl.spark.records import validation_records
from sparkdl.spark.records.kept_data import SETTING
from sparkdl.spark.records.records import SparkRecords
from sparkdl.spark.records.validation_records import ValidationRecords, rdd_of
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, data, plain
from tests.spark.records.folders import stored_folders
from tests.spark.records.test_executor_store import KINDS, nothing_is_left
from tests.spark.test_workers import interrupted_job

MASTERS = {
    way: ParameterAveraging(aggregation=way, batch_size_per_worker=4, workers=2)
    for way in ("driver", "peers")
}


@pytest.fixture
def counted(sc):
    """Returns (a function that counts the records it gets, the count)."""
    total = sc.accumulator(0)

    def count(row):
        total.add(1)
        return row

    return count, total


def rows(count=20):
    return [(x.tolist(), int(y)) for x, y in zip(*data(count), strict=True)]


def test_weights_count_in_rows_of_an_rdd_as_in_a_dataframe(spark, sc):
    some = [(x, y, float(i % 3)) for i, (x, y) in enumerate(rows())]
    frame = spark.createDataFrame(sc.parallelize(some, 3), ["features", "label", "w"])

    def figures(on):
        net = SparkNetwork(sc, plain(), MASTERS["peers"])
        history = net.fit(frame, 1, on, weights="w")
        return history.epochs[0].validation.figures()

    expected, without = figures(frame), figures(frame.drop("w"))
    assert expected != without
    assert figures(frame.rdd) == figures(frame.rdd.map(lambda row: row.asDict())) == expected
    assert figures(frame.rdd.map(lambda row: (row[0], row[1]))) == without
    assert figures(frame.rdd.map(lambda row: row).repartition(7)) == pytest.approx(expected)
    with pytest.raises(DataError, match="has no column 'w'; columns are .*; did you mean 'W'"):
        figures(frame.withColumnRenamed("w", "W"))
    with pytest.raises(
        DataError, match="record 0: has no column 'w'; columns .*; did you mean 'W'"
    ):
        figures(frame.withColumnRenamed("w", "W").rdd)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert figures(frame.withColumnRenamed("w", "W")) == without
        assert figures(frame.withColumnRenamed("w", "W").rdd) == without
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def weighted(count):
    """Returns dicts of records with weights, and pairs without."""
    dicts = [{"features": x, "label": y, "w": 2.0} for x, y in rows(count)]
    return dicts, [{name: one[name] for name in ("features", "label")} for one in dicts]


MIXED = {  # records of a single partition, and what is wrong
    "the first lacks them": (
        lambda some, none: [*none[:3], *some],
        "partition 0, record 3: must have no column 'w', as record 0 has none; give it to all",
    ),
    "the first lacks them, as a pair": (
        lambda some, none: [tuple(none[0].values()), *some],
        "partition 0, record 1: must have no column 'w', as record 0 has none; give it to all",
    ),
    "a later one lacks them": (
        lambda some, none: [*some[:3], *none],
        "partition 0, record 3: has no column 'w'; columns are ",
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_weights_of_some_records_alone_are_refused(name, sc):
    mix, message = MIXED[name]
    records = sc.parallelize(mix(*weighted(8)), 1)
    net = SparkNetwork(sc, plain(), MASTERS["peers"])
    with pytest.raises(DataError, match=message):
        net.fit(sc.parallelize(weighted(8)[0], 1), 1, records, weights="w")


@pytest.mark.parametrize("turned", [False, True])
def test_weights_of_some_partitions_alone_are_refused(turned, sc):
    """As of an RDD with weights and one without, in one union."""
    some, none = (sc.parallelize(one, 1) for one in weighted(8))
    records = none.union(some) if turned else some.union(none)
    net = SparkNetwork(sc, plain(), MASTERS["peers"])
    lacks, has = (0, 1) if turned else (1, 0)
    message = f"partition {lacks}, record 0: must have weights, as partition {has} has; give them"
    with pytest.raises(DataError, match=message):
        net.fit(some, 1, records, weights="w")


@pytest.mark.parametrize("way", MASTERS)
def test_each_record_is_read_once_in_a_fit(way, sc, counted):
    count, total = counted
    held_out = sc.parallelize(rows(), 3).map(count)
    history = SparkNetwork(sc, plain(), MASTERS[way]).fit(arrays(), 3, held_out)
    assert [epoch.validation.examples for epoch in history.epochs] == [20] * 3
    assert total.value == 20
    assert nothing_is_left(sc)


def test_the_next_fit_finds_them(spark, sc, counted):
    count, total = counted
    training, held_out = arrays(), sc.parallelize(rows(), 3).map(count)
    spark.conf.set(SETTING, "1m")
    try:
        figures = []
        for way in ("peers", "driver", "peers"):
            history = SparkNetwork(sc, plain(), MASTERS[way]).fit(training, 1, held_out)
            figures.append(history.epochs[0].validation.figures())
        assert total.value == 20
        assert figures[0] == figures[2]
        assert figures[1] == pytest.approx(figures[0], rel=1e-5)
    finally:
        clear_kept_data(sc)
        spark.conf.unset(SETTING)
    assert nothing_is_left(sc)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_data_give_what_an_evaluation_gives(kind, spark, sc):
    net = SparkNetwork(sc, plain(), MASTERS["peers"])
    history = net.fit(arrays(), 1, KINDS[kind](spark))
    alone = net.evaluate(KINDS[kind](spark))
    assert history.epochs[0].validation.figures() == pytest.approx(alone.figures(), rel=1e-6)


@pytest.mark.parametrize("way", MASTERS)
def test_no_record_is_an_error_before_training(way, sc):
    net = SparkNetwork(sc, plain(), MASTERS[way])
    with pytest.raises(DataError, match="no records to evaluate on: every partition is empty"):
        net.fit(arrays(), 1, sc.parallelize([], 2))
    assert way == "driver" or net.network.state.rounds == 0
    assert nothing_is_left(sc)


@pytest.mark.parametrize("way", MASTERS)
def test_no_weight_above_0_is_an_error_before_training(way, spark, sc):
    weightless = spark.createDataFrame([(*row, 0.0) for row in rows()], ["features", "label", "w"])
    net = SparkNetwork(sc, plain(), MASTERS[way])
    message = "no records to evaluate on: the weight of each is 0"
    with pytest.raises(DataError, match=message):
        net.fit(weightless.selectExpr("features", "label", "1D AS w"), 1, weightless, weights="w")
    assert way == "driver" or net.network.state.rounds == 0
    with pytest.raises(DataError, match=message):
        net.evaluate(weightless, weights="w")
    assert nothing_is_left(sc)


def test_a_split_that_draws_nothing_says_so(sc):
    one = rows()[0]
    with pytest.raises(
        DataError, match="validation_split selects none .* equal records stay togeth"
    ):
        SparkNetwork(sc, plain()).fit(sc.parallelize([one] * 20, 2), 1, validation_split=1e-9)
    assert nothing_is_left(sc)


def test_a_folder_that_is_gone_is_read_again(sc, counted):
    """Spark recomputes the partition of a lost executor; unpersisting forces that here."""
    count, total = counted
    records = SparkRecords(sc.parallelize(rows(), 2).map(count))
    batches = ValidationRecords(sc, records, schema_of(plain()))
    assert total.value == 0
    assert sum(map(len, rdd_of(batches).collect())) == total.value == 20
    for folder in stored_folders(sc):
        shutil.rmtree(folder)
    batches.opened.store.rdd.unpersist(blocking=True)
    assert sum(map(len, rdd_of(batches).collect())) == 20 and total.value == 40
    batches.close()
    assert nothing_is_left(sc)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_batch_goes_to_one_worker(size, tmp_path):
    source, folders = arrays(23, records_per_split=10), {}
    for partition, split in enumerate(source.splits()):
        folders[partition] = str(tmp_path / str(partition))
        write_records(folders[partition], [*source.read(split)] * 2)
    shares = [StoredBatches(folders=folders, rank=rank, size=size) for rank in range(size)]
    found = [len(batch) for share in shares for batch in share]
    assert sorted(found) == sorted([10, 10, 3] * 2)
    assert max(map(len, map(list, shares))) <= -(-6 // size) + 1


def test_a_ctrl_c_at_the_end_of_the_reading_leaves_no_records(sc, monkeypatch):
    monkeypatch.setattr(validation_records, "job", interrupted_job)
    with pytest.raises(KeyboardInterrupt):
        SparkNetwork(sc, plain(), MASTERS["peers"]).fit(arrays(), 1, sc.parallelize(rows(), 2))
    assert nothing_is_left(sc)
