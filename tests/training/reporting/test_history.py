"""Sums over rounds and epochs, and the tables that show them."""

import json

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation import Classification
from sparkdl.training.reporting import history as history_module
from sparkdl.training.reporting.history import SUMS, History
from sparkdl.training.reporting.reports import EpochSums, ValidationReport, WorkerFigures
from tests.training.reports import report


def history(epochs=2, validation=None):
    made = History()
    for epoch in range(epochs):
        made.add_round(report(epoch, 0, loss=2.0))
        made.add_round(report(epoch, 1, loss=1.0, examples=300))
        made.end_epoch(validation)
    return made


def evaluation():
    return Classification(2).add(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1]))


def test_earlier_evaluations_have_no_single_scores_where_they_take_much_memory(monkeypatch):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), 2000)
    judged = [Classification(3).add(probabilities, rng.integers(0, 3, 2000)) for _ in range(5)]
    figures, size = [one.figures() for one in judged], judged[0].score_bytes
    monkeypatch.setattr(history_module, "SCORES", 3 * size)
    kept, later = History(), History()
    for number, one in enumerate(judged):
        kept.add_round(report(epoch=number))
        kept.end_epoch(one)
        later.add_validation(ValidationReport(iteration=number, epoch=0, validation=one))
    assert [one.auc_is_exact for one in judged] == [False, False, True, True, True]
    assert [one.validation.figures() for one in kept.epochs] == figures
    monkeypatch.setattr(history_module, "SCORES", 0)
    history().extend(later)
    kept.extend(History())
    assert [one.auc_is_exact for one in judged] == [False] * 4 + [True]
    assert [one.figures() for one in judged] == figures


def test_the_last_reports_are_kept():
    kept = history(epochs=3, validation=evaluation())
    kept.keep_last(2)
    assert [one.epoch for one in kept.epochs] == [1, 2]
    assert len(kept.rounds) == len(kept.round_ends) == 2


def test_an_epoch_sums_its_rounds_and_weights_the_loss_by_examples():
    first, second = history().epochs
    assert (first.epoch, second.epoch) == (0, 1)
    assert first.examples == 400 and first.loss == 1.25
    assert first.seconds == pytest.approx(
        {"reading": 0.4, "compute": 2.8, "averaging": 0.6, "overhead": 0.2}
    )
    assert first.duration == pytest.approx(4) and first.examples_per_second == pytest.approx(100)


def test_an_epoch_that_a_fit_goes_on_with_has_the_rounds_before_as_well():
    before, noted = History(), {}
    before.note_sums(noted)
    assert noted == {SUMS: None}, "nothing was trained"
    before.add_round(report(1, 0, loss=2.0))
    before.note_sums(noted)
    after = History(earlier=EpochSums(**json.loads(json.dumps(noted[SUMS]))))
    after.note_sums(noted)
    assert noted[SUMS]["examples"] == 100, "a fit that trains nothing keeps what it was told"
    after.add_round(report(1, 1, loss=1.0, examples=300))
    assert after.end_epoch() == history().epochs[1]
    after.add_round(report(2, 0, loss=3.0))
    assert after.end_epoch().loss == 3.0, "of the next epoch all rounds are its own"


def test_times_and_shares():
    made = history()
    assert made.times()["compute"] == pytest.approx(5.6)
    assert made.shares() == pytest.approx(
        {"reading": 0.1, "compute": 0.7, "averaging": 0.15, "overhead": 0.05}
    )


def test_the_score_is_that_of_the_validation():
    assert history().epochs[0].score is None
    assert history(validation=evaluation()).epochs[0].score == 0.5


def test_the_table_has_a_line_per_epoch_and_the_parts():
    lines = [" ".join(x.split()) for x in str(history(validation=evaluation())).splitlines()]
    assert lines[0].startswith("epoch loss score examples examples/s seconds reading compute")
    assert lines[1] == "1 1.2500 0.5000 400 100 4.0 0.4 2.8 0.6 0.2"
    assert lines[2].startswith("2 ")
    assert lines[4:] == [
        "where time went",
        "reading 0.80 s 10.0 %",
        "compute 5.60 s 70.0 %",
        "averaging 1.20 s 15.0 %",
        "overhead 0.40 s 5.0 %",
        "total 8.00 s",
    ]


def test_the_devices_are_those_of_the_round_with_most_workers():
    """Some workers may have no records left in the last round of an epoch."""
    made = History()
    made.add_round(report(devices={"the processor": 2}))
    made.add_round(report(devices={"the processor": 1}))
    assert str(made).endswith("workers computed: 2 on the processor")
    assert made.devices == {"the processor": 2} and History().devices == {}


def test_the_figures_of_each_worker_are_sums_over_rounds():
    """Some workers may have no records left in the last round of an epoch."""
    made = History()
    made.add_round(report(by_worker=(WorkerFigures(30, 1, 2, 3), WorkerFigures(10, 4, 5, 6))))
    made.add_round(report(by_worker=(WorkerFigures(5, 1, 1, 1),)))
    assert made.by_worker() == [WorkerFigures(35, 2, 3, 4), WorkerFigures(10, 4, 5, 6)]
    lines = [" ".join(line.split()) for line in str(made).splitlines()]
    start = lines.index("worker examples reading compute averaging")
    assert lines[start + 1 : start + 3] == ["0 35 2.0 3.0 4.0", "1 10 4.0 5.0 6.0"]
    told = json.loads(json.dumps(made.to_dict()))
    figures = {"examples": 10, "reading": 4, "compute": 5, "averaging": 6, "sent": 0, "memory": 0}
    assert told["by_worker"][1] == figures == told["rounds"][0]["by_worker"][1]
    assert History().by_worker() == [] and "worker " not in str(history())


def test_bytes_add_up_and_memory_is_the_most():
    rounds = [WorkerFigures(1, 1, 1, 1, 100, 7000), WorkerFigures(1, 1, 1, 1, 50, 6000)]
    assert WorkerFigures.of_rounds(rounds) == WorkerFigures(2, 2, 2, 2, 150, 7000)


def test_of_rounds_with_as_many_workers_the_last_one_tells_the_devices():
    made = History()
    made.add_round(report(devices={"the processor": 4}))
    made.add_round(report(devices={"the processor": 1, "NVIDIA H200 (GPU-1)": 3}))
    assert str(made).endswith("workers computed: 3 on NVIDIA H200 (GPU-1), 1 on the processor")
    assert made.to_dict()["rounds"][0]["devices"] == {"the processor": 4}


def test_a_history_without_an_end_of_epoch_shows_the_times():
    made = History()
    assert str(made) == "no rounds" and made.shares()["compute"] == 0
    made.add_round(report())
    assert str(made).startswith("where time went")


def test_the_dict_is_json():
    made = json.loads(json.dumps(history(validation=evaluation()).to_dict()))
    assert made["rounds"][1]["loss"] == 1.0 and made["rounds"][1]["seconds"]["compute"] == 1.4
    assert made["epochs"][1]["score"] == 0.5
    assert made["epochs"][1]["validation"]["accuracy"] == 0.5
    assert made["times"]["compute"] == pytest.approx(5.6)


def test_numbers_of_numpy_become_plain():
    made = History()
    made.add_round(report(loss=np.float32(1.5), examples=np.int64(3), round=np.int32(0)))
    made.end_epoch()
    assert json.loads(json.dumps(made.to_dict()))["epochs"][0]["loss"] == 1.5


def test_no_examples_are_no_division_by_zero():
    made = History()
    made.add_round(report(examples=0, loss=float("nan")))
    assert np.isnan(made.end_epoch().loss)


BAD = {
    "a part is missing": {"reading": 1.0, "compute": 1.0, "averaging": 1.0},
    "a part is unknown": {"reading": 1.0, "compute": 1.0, "averaging": 1.0, "idle": 1.0},
    "time runs back": {"reading": -1.0, "compute": 1.0, "averaging": 1.0, "overhead": 1.0},
}


@pytest.mark.parametrize("name", BAD)
def test_seconds_that_cannot_be_are_refused(name):
    with pytest.raises(ConfigError, match="RoundReport.seconds must be"):
        report(seconds=BAD[name])
