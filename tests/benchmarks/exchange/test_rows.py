"""The report's arithmetic and processes, without any peer."""

import sys
import time

import pytest

from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.exchange import crew as crews
from tests.benchmarks.exchange.all_reduce import LARGE, SMALL, rows
from tests.benchmarks.exchange.crew import Crew
from tests.benchmarks.exchange.row import Bar, Row, best, duration, ratio
from tests.benchmarks.exchange.sides import (
    BARE,
    CHECKED,
    GLOO,
    OPEN_MPI,
    OURS,
    OURS_SHARED,
    XGBOOST,
)

FOUND = {
    OURS: [0.10, 0.10, 0.20],
    OURS_SHARED: [0.05, 0.05, 0.05],
    BARE: [0.09, 0.09, 0.20],
    CHECKED: [0.20, 0.20, 0.40],
    GLOO: [0.20, 0.15, 0.30],
    XGBOOST: [0.40, 0.40, 0.40],
}


def test_ratios_are_medians_of_pairs():
    assert ratio(FOUND, GLOO, OURS) == pytest.approx(1.5)  # median of 2, 1.5, 1.5
    assert ratio(FOUND, OPEN_MPI, OURS) is None


def test_the_best_peer_is_the_one_with_the_least_median():
    assert best(FOUND, [XGBOOST, GLOO, OPEN_MPI]) == GLOO
    assert best(FOUND, [OPEN_MPI]) is None


@pytest.mark.parametrize(
    "bar, missed",
    [
        ({"value": 0.8, "bound": 0.8}, False),
        ({"value": 0.79, "bound": 0.8}, True),
        ({"value": 2.6, "bound": 2.5, "most": True}, True),
        ({"value": 2.4, "bound": 2.5, "most": True}, False),
        ({"value": None, "bound": 1.0}, True),  # not measured counts as missed
        ({"value": None}, False),
        ({"value": 0.1}, False),
    ],
)
def test_a_bar_is_missed_below_the_least_and_above_the_most(bar, missed):
    bar = Bar(what="x", **bar)
    assert bar.missed == missed
    assert ("MISSED" in str(bar)) == missed


def test_a_row_tells_its_bars_and_notes():
    bars = (Bar(what="bare", value=0.7, bound=0.8), Bar(what="others", value=None))
    text = str(Row(title="sum", ours="3 ms", bars=bars, notes=("a note",)))
    assert "bare 0.7x (MISSED bar: at least 0.8x); others -" in text
    assert text.endswith("\n    a note")


@pytest.mark.parametrize(
    "seconds, text", [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (2.04e-5, "20.4 us")]
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text


def test_an_all_reduce_is_held_against_bare_sockets_and_peers():
    sockets, memory, checked, _ = rows(FOUND, LARGE, 2, [])
    assert [bar.value for bar in sockets.bars] == pytest.approx([0.9, 1.5])
    assert [bar.value for bar in memory.bars[:2]] == pytest.approx([4.0, 2.0])
    assert [bar.value for bar in checked.bars] == [0.5]
    small, *_ = rows(FOUND, SMALL, 2, [])
    assert small.bars[0].value == pytest.approx(1 / 0.9)  # ping-pong reports time
    assert small.bars[0].most


@pytest.mark.slow
def test_a_crew_says_how_long_its_actions_took():
    crew = Crew(BARE, 2)
    try:
        assert len(set(crew.pids)) == 2
        assert 0 < crew.measure(0.01, "ping_pong", 4096) < 1
        assert 0 < crew.measure(0.01, "one_thread", 300_004) < 1
        assert 0 < crew.measure(0.01, "two_threads", 300_004) < 1
    finally:
        crew.close()
    assert all(process.returncode == 0 for process in crew.processes)


@pytest.mark.slow
def test_a_crew_that_cannot_start_says_why(monkeypatch):
    missing = [sys.executable, "-c", "import nothing_of_this_name"]
    monkeypatch.setattr(crews, "commands", lambda name, size: [missing] * size)
    with pytest.raises(Failed, match="No module named 'nothing_of_this_name'"):
        Crew("any", 2)


@pytest.mark.slow
def test_a_crew_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(crews, "GRACE", 0.2)
    monkeypatch.setattr(crews, "LIMIT", 0.5)
    asleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(crews, "commands", lambda name, size: [asleep] * size)
    began = time.monotonic()
    with pytest.raises(Failed, match="no word within 0.5 s"):
        Crew("any", 2)
    assert time.monotonic() - began < 30
