"""Stores over a Group, and stores of two levels."""

import os
import signal

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, PeerError
from sparkdl.exchange.store import KeyValueStore, Places, TwoLevelStore
from tests.exchange.crew import SECRET, crew
from tests.exchange.store import work

OPTIONS = {"timeout": 5.0, "stall_timeout": 30.0}


def over_a_group(group):
    with KeyValueStore(Places.of(group, SECRET), big=work.BIG, **OPTIONS) as store:
        return work.train(store)


def two_levels(group, machines, weight):
    machine = machines[group.rank]
    with TwoLevelStore(group, machine, SECRET, combine="mean", **OPTIONS) as store:
        value = np.zeros((2, 3), np.float32)
        store.set_optimizer(work.descend)
        store.broadcast(["w"], [np.full((2, 3), group.rank, np.float32)], [value])
        gradient = np.full((2, 3), group.rank + 1, np.float32)
        outcome = store.pushpull("w", gradient * weight, value, weight=weight)
        kept = gradient[0, 0] == group.rank + 1
        return value.tolist(), tuple(outcome), bool(kept), store.statistics()["pushes"]


def with_an_error(group):
    with TwoLevelStore(group, 0, SECRET, **OPTIONS) as store:
        try:
            store.pull("nothing", np.zeros(3))
        except Exception as error:
            store.barrier()
            return f"{type(error).__name__}: {error}"


def without_states(group, path):
    with TwoLevelStore(group, 0, SECRET, **OPTIONS) as store:
        try:
            store.load_optimizer_states(path)
        except Exception as error:
            return type(error), "no_such_file" in str(error)


def killed(group, who):
    store = TwoLevelStore(group, group.rank // 2, SECRET, **OPTIONS)
    value = np.zeros(3)
    store.init("w", value)
    if group.rank == who:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        store.pushpull("w", np.ones(3), value)


def test_a_store_of_a_group():
    assert crew(2, over_a_group) == [work.expected(2)] * 2


@pytest.mark.parametrize("machines", ["a", "aa", "ab", "aab", "aba"])
def test_machines_push_what_their_processes_push_together(machines):
    size, pushes = len(machines), len(set(machines))
    mean = sum(range(1, size + 1)) / size
    for found in crew(size, two_levels, machines, 4.0):
        value, outcome, kept, counted = found
        assert value == [[-mean] * 3] * 2 and outcome == (False, 0)
        assert kept and counted == pushes


def test_an_error_of_the_leader_is_that_of_its_machine():
    for text in crew(2, with_an_error):
        assert text.startswith("ConfigError: key must have a value, got 'nothing'")


def test_a_checkpoint_error_of_the_leader_is_one_for_its_machine(tmp_path):
    found = crew(2, without_states, str(tmp_path / "no_such_file"))
    assert found == [(CheckpointError, True)] * 2


@pytest.mark.parametrize("who", [0, 3])
def test_a_killed_process_is_noticed_by_all_machines(who):
    results = crew(4, killed, who, limit=40.0, timeout=5.0)
    assert results.pop(who) is None
    assert all(isinstance(error, PeerError) for error in results), results
