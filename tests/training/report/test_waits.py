"""Which worker waited for which, computed by hand."""

from dataclasses import replace

import pytest

from sparkdl.training.report.waits import (
    DRIVER,
    ENDING,
    reason_between,
    reason_to_wait,
    sentence,
    slowest_of,
    waited_for,
    waits,
)
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import ValidationReport, WorkerFigures
from tests.training.report.fits import evaluation, history
from tests.training.reports import report

QUICK, BUSY = WorkerFigures(50, 0.5, 1.0, 0.0), WorkerFigures(50, 0.5, 3.0, 0.0)
READS = WorkerFigures(50, 4.0, 1.0, 0.0)


def fit(*rounds):
    made = History(phases={"compute": 1.0})
    for number, by_worker in enumerate(rounds):
        made.add_round(
            report(round=number, rounds_in_epoch=9, iteration=number, by_worker=by_worker)
        )
    return made


@pytest.mark.parametrize(
    "by_worker, slowest, seconds",
    [
        ((QUICK, BUSY, QUICK), (1, "computing"), 4.0),
        ((BUSY, READS), (1, "reading"), 1.5),
        ((QUICK,), (0, "computing"), 0.0),
    ],
)
def test_the_slowest_of_a_round_is_waited_for(by_worker, slowest, seconds):
    one = report(by_worker=by_worker)
    assert slowest_of(one) == slowest and waited_for(one) == pytest.approx(seconds)


def test_workers_are_counted_over_rounds():
    made = fit((QUICK, BUSY), (QUICK, READS), (QUICK, READS), (BUSY, QUICK), (QUICK,))
    assert waits(made) == [[0, 1, 2.0, "computing"], [1, 3, 9.0, "reading"]]
    assert sentence(made) == (
        "Worker 1 was the slowest in 3 of 4 rounds; the others waited 9.00 s for it, while it was "
        "reading."
    )


@pytest.mark.parametrize("made", [History(), fit((QUICK,)), fit((QUICK, QUICK)), fit(())])
def test_where_nobody_waits_there_is_no_sentence(made):
    assert sentence(made) == ""


def test_a_worker_waits_for_the_slowest_of_most_rounds():
    rounds = fit((QUICK, BUSY), (QUICK, READS), (QUICK, BUSY)).rounds
    assert reason_to_wait(rounds, 0) == "for worker 1, the slowest, which was computing"
    assert reason_to_wait(rounds, 1) == DRIVER


def test_why_the_driver_trained_nothing():
    made = history(epochs=3)
    assert reason_between(made, 2, 10, 11).startswith("restart: worker 1 </script>; 2 workers go")
    assert reason_between(made, 2, 10, 10.5) == "evaluation after epoch 1"
    assert reason_between(made, 0, 6, 6.1) == "checkpoints, listeners, Spark's jobs"
    made.epochs[1] = replace(made.epochs[1], validation=None)
    assert reason_between(made, 5, 17, 18) == "the end of epoch 2: checkpoints, listeners"
    at = ValidationReport(iteration=5, epoch=0, validation=evaluation())
    made.validations.append(at)
    assert reason_between(made, 0, 6, 6.1) == "evaluation after 5 updates"
    made.epochs.pop()
    assert reason_between(made, 8, 24, 25) == ENDING
