"""A worker that slows down the others is named once."""

import pytest

from sparkdl.training.reporting.reports import WorkerFigures
from sparkdl.training.reporting.slow_workers import ROUNDS, SlowWorkerLog
from tests.training.reports import report


def rounds(seconds, count=ROUNDS):
    """Returns reports of rounds in which workers compute for these seconds."""
    figures = tuple(WorkerFigures(10, 0.0, taken, 0.0) for taken in seconds)
    return [report(by_worker=figures, workers=len(figures))] * count


def logged(caplog, *reports):
    listener = SlowWorkerLog()
    for one in reports:
        listener.on_round(one, None)
    return [record.getMessage() for record in caplog.records]


def test_it_is_named_once_with_its_seconds(caplog):
    [text] = logged(caplog, *rounds([1.0, 1.0, 2.0, 1.0], 3 * ROUNDS))
    assert text.startswith("rank 2 is slow: it has read and computed for 40.0 s in 20 rounds, the")
    assert "median worker for 20.0 s" in text


@pytest.mark.parametrize(
    "reports",
    [
        rounds([1.0, 1.0, 2.0], ROUNDS - 1),
        rounds([1.0, 1.0, 1.4]),
        rounds([0.01, 0.01, 0.02]),  # a fifth of a second in total
        rounds([1.0, 9.0]),  # two workers have no typical one
        rounds([9.0]),
        rounds([1.0, 1.0, 2.0], ROUNDS - 1) + rounds([1.0, 1.0, 1.0], 1) + rounds([1.0] * 3),
        rounds([1.0, 1.0, 2.0], 10) + rounds([1.0, 1.0, 1.0, 2.0], 10),  # others after a restart
        [report()] * ROUNDS,
    ],
)
def test_others_are_not(caplog, reports):
    assert logged(caplog, *reports) == []
