"""-train on the tests' Spark: output files, resuming, and problems that CaffeOnSpark had."""

import json
import re

import numpy as np
import pyarrow.parquet as pq

from sparkdl.interop.caffe import read_solver_state, read_weights
from tests.commands.caffe.conftest import SOLVER, database

TRAIN = "-conf solver.prototxt -train -model models/m.caffemodel"


def weights(path):
    return read_weights(path)["ip"]


def test_training_with_tests_in_between_then_test(run, made, spark):
    code, out, err = run(f"{TRAIN} -test -output means.json -clusterSize 2 -persistent")
    assert (code, err) == (0, "")
    for line in (
        "Iteration 10, loss = ",
        "Iteration 30, Testing net (#0)",
        "output #0: accuracy =",
    ):
        assert line in out
    found = {path.name for path in (made.folder / "models").iterdir()}
    ends = {f"small_iter_{n}.{kind}" for n in (20, 30) for kind in ("caffemodel", "solverstate")}
    assert found == {"m.caffemodel"} | ends
    assert read_solver_state("models/small_iter_30.solverstate").iteration == 30
    for ours, snapshot in zip(
        weights("models/m.caffemodel"), weights("models/small_iter_30.caffemodel")
    ):
        np.testing.assert_array_equal(ours, snapshot)
    means = json.loads((made.folder / "means.json").read_text())
    assert means["accuracy"][0] > 0.9
    assert run("-conf solver.prototxt -test -model models/m.caffemodel -output again")[0] == 0
    assert json.loads((made.folder / "again").read_text()) == means


def test_what_the_tests_in_between_show_is_a_data_frame(run, made, spark):
    """As CaffeOnSpark's trainWithValidation: the means of the test net's outputs at each test."""
    code, out, err = run(f"{TRAIN} -output tests -outputFormat parquet")
    assert (code, err) == (0, "")
    table = pq.read_table("tests").to_pandas()
    assert list(table.columns) == ["iteration", "accuracy", "loss"]
    assert table["iteration"].tolist() == [0, 10, 20, 30]
    for name in ("accuracy", "loss"):
        logged = re.findall(f"output #[0-9]: {name} = ([0-9.]+)", out)
        assert [f"{value:.6g}" for [value] in table[name]] == logged
    assert run(f"{TRAIN} -output tests")[0] == 2  # it exists already


def test_there_is_nothing_to_write_of_a_solver_that_does_not_test(run, made):
    made.write("solver.prototxt", SOLVER)
    code, _, err = run(f"{TRAIN} -output tests")
    assert (code, "-output is for tests, but the solver has no test_interval" in err) == (2, True)


def test_a_resumed_training_ends_as_the_whole_one(run, made, spark):
    made.write("solver.prototxt", SOLVER)
    assert run(TRAIN)[0] == 0
    whole = weights("models/m.caffemodel")
    resumed = "-conf solver.prototxt -train -model again/m.caffemodel -snapshot"
    code, out, err = run(f"{resumed} models/small_iter_20.solverstate")
    assert (code, err) == (0, "")
    assert "Testing net" not in out
    for one, other in zip(whole, weights("again/m.caffemodel"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fine_tuning_says_what_was_loaded(run, made, spark):
    code, out, err = run(f"{TRAIN} -weights small.caffemodel -connection none")
    assert (code, err) == (0, "")
    assert "weights of small.caffemodel\n  loaded: ip" in out


def test_a_snapshot_of_another_net_is_refused_before_data_is_read(run, made, spark):
    code, _, err = run(f"{TRAIN} -snapshot small.caffemodel")
    assert code == 2
    assert "small.caffemodel" in err


# Problems of CaffeOnSpark's users


def test_one_partition_for_two_executors(run, made, spark):
    """CaffeOnSpark coalesced its data to no partition at all."""
    assert_learns(run, made, "-lmdb_partitions 1")


def test_records_that_are_no_multiple_of_the_batches(run, made, spark):
    """CaffeOnSpark dropped the tail: 330 records, two workers, batches of 8, 7 partitions."""
    assert_learns(run, made, "-lmdb_partitions 7")


def test_another_number_of_executors_than_the_cluster_size(run, made, spark, monkeypatch):
    """CaffeOnSpark's driver stopped: actual number of executors is not as expected."""
    monkeypatch.setattr("sparkdl.spark.jobs.slots.EXECUTOR_TIMEOUT", 0.1)
    told = assert_learns(run, made, "-clusterSize 3 -devices 1")
    assert "-clusterSize is 3, but there are 2 executors" in told
    assert "3 replicas were requested, but 2 train" in told


def test_several_databases(run, made, spark):
    """CaffeOnSpark took one; these are very uneven, and the last record has a class of its own."""
    images, labels = made.images, made.labels
    database(made.folder / "one", images[:3], labels[:3])
    database(made.folder / "two", images[3:], labels[3:])
    both = f"{made.folder}/one,{made.folder}/two"
    text = (made.folder / "net.prototxt").read_text()
    made.write("net.prototxt", text.replace(str(made.folder / "lmdb"), both))
    assert_learns(run, made, "")


def assert_learns(run, made, flags):
    """Checks that training and testing succeed on all records; returns the messages."""
    made.write("solver.prototxt", SOLVER + "test_iter: 17 test_interval: 30")
    code, out, err = run(f"{TRAIN} -test {flags}")
    assert code == 0
    assert "test net 0: 330 records" in out
    assert json.loads((made.folder / "output").read_text())["accuracy"][0] > 0.9
    return err
