"""The clock of a fit: each second belongs to one phase, so phases add up to the wall clock."""

import time
from itertools import chain, repeat

import numpy as np
import pytest

from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.phases import PHASES, Phases, advice, phase_rows
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.training.problems import Partitions, perceptron


def clock(*seconds):
    """Returns a clock that advances by these seconds at each call."""
    return iter(np.cumsum([10.0, *seconds])).__next__


def taken(phases):
    return {phase: seconds for phase, seconds in phases.seconds.items() if seconds}


@pytest.mark.slow
def test_each_second_goes_to_the_phase_that_ends():
    phases = Phases(clock(1, 2, 4, 8))
    for phase in ("starting", "reading", "compute", "reading"):
        phases.end(phase)
    assert taken(phases) == {"starting": 1, "reading": 10, "compute": 4}


KNOWN = [
    ({"compute": 3.0, "reading": 1.0}, {"compute": 3, "reading": 1, "overhead": 4}),
    ({"compute": 12.0, "reading": 4.0}, {"compute": 6, "reading": 2}),  # workers were ahead
    ({"compute": 0.0}, {"overhead": 8}),
    ({}, {"overhead": 8}),
]


@pytest.mark.parametrize("known, found", KNOWN, ids=["some", "too much", "nothing", "none"])
def test_what_is_known_of_a_phase_goes_to_others(known, found):
    phases = Phases(clock(8))
    phases.end("overhead", known)
    assert taken(phases) == pytest.approx(found)


def test_advice_is_a_sentence_on_the_longest_phase():
    seconds = dict.fromkeys(PHASES, 0.0)
    assert advice(seconds) == advice({}) == ""
    assert advice(seconds | {"reading": 3.0, "compute": 1.0}).startswith(
        "75 % of 4.0 s went into reading records: store them as Parquet"
    )
    for phase in PHASES:
        told = advice(seconds | {phase: 2.0})
        assert told.startswith("100 % of 2.0 s went into ") and told.endswith(".")


@pytest.mark.slow
def test_the_table_shows_the_phases_of_a_fit():
    made = History(phases={"starting": 1.0, "compute": 3.0, "ending": 0.0})
    assert made.wall == 4.0 and made.to_dict()["phases"] == made.phases
    made.add_round(Network(perceptron()).fit(Partitions([9]), 1, ALONE).rounds[0])
    lines = [" ".join(line.split()) for line in str(made).splitlines()]
    assert lines[:4] == [
        "where time went",
        "starting 1.00 s 25.0 %",
        "compute 3.00 s 75.0 %",
        "total 4.00 s",
    ]
    assert made.advice() in lines


SMALL = {"batch_size_per_worker": 8, "workers": 2}
ALONE = ParameterAveraging(batch_size_per_worker=8, workers=1, aggregation="driver")
MASTERS = {
    "through the driver": ParameterAveraging(**SMALL, aggregation="driver"),
    "among peers": ParameterAveraging(**SMALL, aggregation="peers"),
    "all-reduce": AllReduceSGD(**SMALL),
}
ROUNDS = {"starting", "reading", "balance", "compute", "overhead", "evaluation", "checkpoints"}
LAUNCHED = ROUNDS | {"launching", "averaging", "ending"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MASTERS)
def test_phases_add_up_to_the_wall_clock(name, crews, tmp_path):
    workers, shares = crews(2), []
    while not shares or (shares[-1] < 0.9 and len(shares) < 5):  # this process may lose its core
        options = {"checkpoints": Checkpoints(path=str(tmp_path / str(len(shares))))}
        options["validation"] = Partitions([9])
        network, began = Network(perceptron()), time.perf_counter()
        history = network.fit(Partitions([60]), 3, MASTERS[name], workers, **options)
        shares.append(history.wall / (time.perf_counter() - began))
        assert shares[-1] <= 1
    assert shares[-1] >= 0.9
    expected = LAUNCHED if MASTERS[name].resident else ROUNDS
    assert expected <= {phase for phase, seconds in history.phases.items() if seconds > 0}
    for report in history.rounds:
        assert sum(worker.examples for worker in report.by_worker) == report.examples
        assert all(worker.compute > 0 for worker in report.by_worker if worker.examples)
    own = history.by_worker()
    assert len(own) == 2 and sum(worker.examples for worker in own) == 3 * 60


def test_a_clock_that_stands_still_is_no_division_by_zero():
    phases = Phases(chain(repeat(1.0)).__next__)
    phases.end("overhead", {"compute": 1.0})
    assert taken(phases) == {}


def test_phases_have_their_share():
    seconds = {"starting": 3.0, "reading": 1.0, "compute": 12.0, "evaluation": 2.0, "ending": 0.0}
    rows = phase_rows(seconds)
    assert [row[0] for row in rows] == ["starting", "reading", "compute", "evaluation"]
    assert sum(share for *_, share in rows) == pytest.approx(1)
