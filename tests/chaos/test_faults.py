"""Some turns of `python -m tests.chaos` on masters that promise a fault-free fit's weights."""

import sys

import pytest
from pyspark import SparkContext

from tests.chaos.__main__ import FAULTS, main
from tests.chaos.local_cluster import local_cluster
from tests.support.executors import all_awaited
from tests.support.jvm_end import end_jvm
from tests.training.master_table import MASTERS

TURNS = {
    "tests/293": ("pipeline", "worker killed"),
    "tests/3472": ("averaging by peers, changes encoded", "executor's Python killed"),
    "tests/992": ("averaging by the driver", "worker killed"),
    "tests/660": ("all-reduce, shards of parameters", "executor killed"),
    "tests/18": ("averaging by peers", "records removed, worker killed"),
    "tests/611": ("all-reduce", "executor's clock an hour back"),
}


@pytest.fixture(scope="module")
def cluster():
    """One that other tests do not wait for, unless they have begun one in this process."""
    all_awaited()
    with local_cluster() as found:
        yield found
    if SparkContext._active_spark_context is None:
        end_jvm()


@pytest.mark.parametrize("on", ["local", "hosts", "yarn"])
def test_an_unknown_fault_is_refused_with_the_known_ones(on, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["chaos", "--on", on, "--only", "worker kiled"])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert f"--only must be some of {sorted(FAULTS[on])} on {on}, got ['worker kiled']" in error


@pytest.mark.jvm
@pytest.mark.parametrize("seed", TURNS)
def test_a_fit_with_a_fault_has_the_weights_of_the_quiet_one_and_leaves_nothing(seed, cluster):
    outcome = cluster.take_turn(seed)
    assert (outcome.master, outcome.fault) == TURNS[seed]
    assert outcome.struck
    lost = "killed" in outcome.fault and MASTERS[outcome.master].master.resident
    assert outcome.restarts == lost, "Spark ran the task again"
    assert (outcome.error, outcome.wrong) == ("", ())
