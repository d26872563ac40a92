"""The position in the data after some updates equals that found epoch by epoch."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.masters import AllReduceSGD, ParameterAveraging, ParameterServer
from sparkdl.training.masters.parameter_averaging.master import plan_rounds
from sparkdl.training.network import Network
from sparkdl.training.resident.schedule import BlockSchedule
from sparkdl.training.rounds import round_part
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.rounds.round_part import locate_update
from tests.training.problems import Partitions, perceptron
from tests.training.reports import state

UPDATES = 12_345
EQUAL, UNEVEN = [40] * 6, [40, 40, 40, 40, 40, 12]
MASTERS = {
    "driver": ParameterAveraging(batch_size_per_worker=8, aggregation="driver"),
    "all-reduce": AllReduceSGD(batch_size_per_worker=8, accumulate=2),
    "servers": ParameterServer(batch_size_per_worker=8, push_every=2),
}


def planned(master, sizes, workers):
    """Returns the function from an epoch to its rounds."""
    if master.resident:
        return BlockSchedule(sizes=tuple(sizes), workers=workers, seed=3).rounds
    return lambda epoch: plan_rounds(3, epoch, len(sizes), workers)


def counted(master, sizes, plan):
    """Returns the place of the round with the update, found by going through all epochs."""
    epoch = rounds = iteration = 0
    while True:
        for number, blocks in enumerate(plan(epoch)):
            batches = [-(-sizes[n] // 8) for n in blocks if n is not None]
            updates = master.updates_of(batches)
            if iteration + updates > UPDATES:
                return {"epoch": epoch, "round": number, "whole": rounds, "begun": iteration}
            rounds, iteration = rounds + 1, iteration + updates
        epoch += 1


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [EQUAL, UNEVEN, [40]], ids=["equal", "uneven", "one block"])
@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("name", MASTERS)
def test_epochs_that_are_counted_at_once_are_those_gone_through(name, workers, sizes):
    master = MASTERS[name]
    plan = planned(master, sizes, workers)
    marks = Milestones(last=UPDATES)
    found = locate_update(state(iteration=UPDATES), plan, sizes, master, marks).counters
    known = counted(master, sizes, plan)
    assert (found["epoch"], found["round"]) == (known["epoch"], known["round"])
    assert found["rounds"] == known["whole"] + (known["begun"] < UPDATES)
    assert found["iteration"] == UPDATES
    if name != "servers":  # there each worker's push is an update
        assert found["done"] == (UPDATES - known["begun"]) * getattr(master, "accumulate", 1)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [EQUAL, UNEVEN], ids=["equal", "uneven"])
def test_marks_do_not_move_the_place(sizes, monkeypatch):
    master = MASTERS["driver"]
    plan, marks = planned(master, sizes, 2), Milestones(last=UPDATES, validate=7, show=(3, 10))
    at = state(iteration=UPDATES)
    soon = locate_update(at, plan, sizes, master, marks).counters
    monkeypatch.setattr(round_part, "WALKED", UPDATES)
    slow = locate_update(at, plan, sizes, master, marks).counters
    parts = soon.pop("rounds"), slow.pop("rounds")
    assert soon == slow and parts[0] >= parts[1]


def fit_from(iteration, crews, workers=1):
    network = Network(perceptron())
    network.state = replace(network.state, iteration=iteration)
    master = ParameterAveraging(batch_size_per_worker=8, aggregation="driver")
    network.fit(Partitions([80, 60]), 1, master, crews(workers))
    return network


@pytest.mark.slow
def test_a_fit_goes_on_from_any_number_of_updates(crews):
    """Files from elsewhere may contain any number."""
    network = fit_from(2**40, crews)
    assert np.isfinite(network.state.params).all()
    assert network.state.iteration - 2**40 <= 18 and network.state.starts_epoch


def test_epochs_that_differ_are_not_counted_for_ever(monkeypatch):
    monkeypatch.setattr(round_part, "LONGEST_WALK", 1000)
    master, at = MASTERS["driver"], state(iteration=2**40)
    plan, marks = planned(master, UNEVEN, 2), Milestones(last=2**40)
    with pytest.raises(ConfigError, match="TrainState.iteration must be an update of the first"):
        locate_update(at, plan, UNEVEN, master, marks)
