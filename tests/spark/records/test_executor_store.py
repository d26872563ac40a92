"""Records are stored once on the executors, found again, and removed without a trace."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.dealing import assemble_block
from sparkdl.errors import DataError, LostRecords, WorkerError
from sparkdl.spark import SparkWorkers
from sparkdl.spark.jobs import job_tags
from sparkdl.spark.jobs.job import no_waiting_for_locality
from sparkdl.spark.records import blocks as blocks_module
from sparkdl.spark.records import locality
from sparkdl.spark.records.blocks import load_blocks
from sparkdl.spark.records.executor_store import ExecutorStore
from sparkdl.spark.records.kept_data import open_data
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, data, plain
from tests.spark.records.folders import stored_folders
from tests.support.held_slots import held_slots
from tests.support.waiting import until

RECORDS, SIZE = 60, 7
SCHEMA = schema_of(plain())


def pairs(spark):
    return spark.sparkContext.parallelize(list(zip(*data(RECORDS))), 3)


def frame(spark):
    rows = [(x.tolist(), int(y)) for x, y in zip(*data(RECORDS))]
    made = spark.sparkContext.parallelize(rows, 3)
    return spark.createDataFrame(made, "features array<float>, label int")


def source(spark):
    return arrays(RECORDS)


KINDS = {"pairs": pairs, "frame": frame, "source": source}
REPARTITION = ["always", "never"]


def load(sc, given, repartition="always"):
    opened = partial(open_data, sc, SparkRecords(given), SCHEMA)
    options = ParameterAveraging(seed=3, repartition=repartition)
    return load_blocks(SCHEMA, opened, SIZE, lambda: 2, options)


@pytest.mark.parametrize("repartition", REPARTITION)
def test_splits_that_share_a_task_give_the_same_blocks(spark, repartition, monkeypatch):
    sc, given = spark.sparkContext, arrays(RECORDS, records_per_split=5)
    found = []
    for fewest, tasks in {256: 12, 4: 4}.items():
        monkeypatch.setattr(locality, "FEWEST_TASKS", fewest)
        blocks = load(sc, given, repartition)
        assert blocks.store.rdd.getNumPartitions() == tasks
        assert blocks.store.counts == [5] * 12
        assert [one.partition for one in blocks.store.partitions] == [*range(12)]
        found.append(of_driver(blocks))
        blocks.close()
    for alone, shared in zip(*found, strict=True):
        np.testing.assert_array_equal(alone.ids, shared.ids)
        np.testing.assert_array_equal(alone.features, shared.features)
    assert nothing_is_left(sc)


def nothing_is_left(sc):
    return until(lambda: not stored_folders(sc)) and sc._jsc.getPersistentRDDs().isEmpty()


def of_driver(blocks):
    """Returns the blocks as the driver's rounds see them."""
    parts = blocks.rdd.glom().collect()
    return [assemble_block([piece for _, piece in part]) for part in parts]


def of_workers(blocks):
    """Returns the blocks as three long-lived workers see them."""
    shares = [range(rank, len(blocks.sizes), 3) for rank in range(3)]
    found = {}
    for share in blocks.shares(shares):
        own = dict(share.blocks())
        assert set(own) == share.numbers
        found |= own
    return [assemble_block([found[number]]) for number in range(len(found))]


@pytest.mark.parametrize("repartition", REPARTITION)
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_and_ways_give_the_same_blocks(kind, repartition, spark, sc):
    blocks = load(sc, KINDS[kind](spark), repartition)
    found = of_driver(blocks)
    for one, other in zip(found, of_workers(blocks), strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        for name, column in one.columns.items():
            np.testing.assert_array_equal(column, other.columns[name])
    assert blocks.sizes == [len(block) for block in found]
    blocks.close()
    assert nothing_is_left(sc)
    x, y = data(RECORDS)
    all_records = Batch.concat(found)
    order, part = all_records.ids & np.uint64(2**40 - 1), all_records.ids >> np.uint64(40)
    rows = (20 * part + order).astype(int)
    assert sorted(rows) == list(range(RECORDS))
    np.testing.assert_array_equal(all_records.features, x[rows])
    np.testing.assert_array_equal(all_records.labels, y[rows])


def cancel_tags(sc):
    job_tags.cancel_tag(sc, "of the user")


@pytest.mark.parametrize("cancel", [cancel_tags, lambda sc: sc.cancelJobGroup("of the user")])
def test_executors_that_are_busy_remove_their_records_later(cancel, spark, sc):
    """Not other executors in their place, nor are they kept from it by the end of a user's jobs."""
    store = ExecutorStore(SparkRecords(frame(spark)).stored(sc, SCHEMA, "a-key"), "a-key")
    store.measure()
    with no_waiting_for_locality(sc), held_slots(sc, 1):  # as the rounds of another fit
        sc.setJobGroup("of the user", "")
        job_tags.add_tag(sc, "of the user")
        try:
            store.remove()
        finally:
            job_tags.remove_tag(sc, "of the user")
            sc.setLocalProperty(job_tags.JOB_GROUP, None)
        cancel(sc)
        time.sleep(1)  # the free executor could take the task of the other
    assert nothing_is_left(sc)


def test_figures_are_all_that_leaves_the_executors(spark, sc):
    store = ExecutorStore(SparkRecords(frame(spark)).stored(sc, SCHEMA, "a-key"), "a-key")
    phases = store.measure()
    folders = stored_folders(sc)
    store.remove()
    assert store.counts == [20, 20, 20]
    assert store.nbytes == RECORDS * (6 * 4 + 4 + 8)  # floats, label and id as in the DataFrame
    assert list(phases) == ["starting", "python", "reading"]
    assert min(phases.values()) >= 0 < sum(phases.values())
    assert [os.path.basename(path).partition(".")[0] for path in folders].count("0") == 1
    assert len(folders) == 3
    assert nothing_is_left(sc)


def test_a_bad_record_leaves_nothing_behind(spark, sc):
    bad = frame(spark).selectExpr("features", "if(features[0] > 1, 9, label) as label")
    with pytest.raises(DataError, match=r"partition 0, record \d+: label must be in"):
        load(sc, bad)
    assert nothing_is_left(sc)


def fail_hard(pair):
    """Ends the process of the task that reads the last record."""
    if pair[1] < 0:
        os._exit(3)
    return pair


def test_a_process_that_dies_while_it_reads_leaves_nothing_behind(spark, sc):
    x, y = data(RECORDS)
    marked = [*zip(x[:-1], y[:-1]), (x[-1], -1)]
    with pytest.raises(WorkerError, match="crashed|exited unexpectedly"):
        SparkWorkers(sc).load(
            SparkRecords(sc.parallelize(marked, 3).map(fail_hard)),
            SCHEMA,
            SIZE,
            ParameterAveraging(seed=3),
        )
    assert nothing_is_left(sc)


@pytest.mark.parametrize("way", [of_driver, of_workers])
def test_lost_folders_are_named(way, spark, sc):
    blocks = load(sc, pairs(spark))
    for folder in stored_folders(sc):
        shutil.rmtree(folder)
    with pytest.raises(LostRecords, match=r"sparkdl-\w+/\d\.\d+: must hold records"):
        if way is of_workers:
            of_workers(blocks)
        else:
            SparkWorkers(sc, 2).run_round(print, blocks, [0, 1], None, 1)
    blocks.close()
    assert nothing_is_left(sc)


def folders_of(blocks):
    return {tuple(share.folders.values()) for share in blocks.shares([[0], [1]])}


def test_later_workers_are_sent_to_the_folders_that_there_are(spark, sc):
    blocks = load(sc, pairs(spark))
    first = folders_of(blocks)
    blocks.launches = 2
    assert folders_of(blocks) == first, "no executor was lost"
    blocks.read_again()  # as if their holders were about to leave
    [again] = folders_of(blocks)
    assert not {again} & first and set(again) <= set(stored_folders(sc))
    blocks.close()
    assert nothing_is_left(sc)


def test_what_was_removed_meanwhile_is_read_again_for_later_workers(spark, sc):
    """For example after a cleanup of temporary files."""
    blocks = load(sc, pairs(spark))
    blocks.launches = 2
    shutil.rmtree(stored_folders(sc)[0])
    [folders] = folders_of(blocks)
    assert len(folders) == 3 and set(folders) <= set(stored_folders(sc))
    blocks.close()
    assert nothing_is_left(sc)


def test_workers_on_several_hosts_are_sent_to_none(spark, sc, monkeypatch):
    blocks = load(sc, pairs(spark))
    monkeypatch.setattr(blocks_module, "executors_share_host", lambda sc: False)
    assert blocks.shares([[0], [1]]) is None
    blocks.close()


def test_records_that_are_others_when_they_are_read_again_are_refused(spark, sc, tmp_path):
    x, y = data(RECORDS)
    pairs_there, mark = sc.parallelize([*zip(x, y)], 3), str(tmp_path / "mark")

    def fewer(rows):
        rows = list(rows)
        return rows[1:] if os.path.exists(mark) else rows

    blocks = load(sc, pairs_there.mapPartitions(fewer))
    blocks.launches = 2
    Path(mark).touch()
    assert blocks.shares([[0]]) is not None, "nothing was lost"
    blocks.read_again()
    with pytest.raises(DataError, match=r"^partition 0 must have the \d+ records that it had, got"):
        blocks.shares([[0]])
    blocks.close()
