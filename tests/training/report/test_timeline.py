"""The timeline covers the wall clock of a fit, each second exactly once."""

from dataclasses import replace
from itertools import pairwise

import pytest

from sparkdl.training.report import timeline as module
from sparkdl.training.report.timeline import BETWEEN, WAITING, scaled, timeline
from sparkdl.training.report.waits import DRIVER
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.reports import WorkerFigures
from tests.training.report.fits import FIGURES, history


def lanes():
    found = timeline(history())["lanes"]
    return {lane["name"]: [span[:3] for span in lane["spans"]] for lane in found}


def reasons(made):
    """Returns {lane: [(start, reason)]}."""
    found = timeline(made)
    return {
        lane["name"]: [(span[0], found["reasons"][span[3]]) for span in lane["spans"] if span[3:]]
        for lane in found["lanes"]
    }


@pytest.mark.slow
def test_the_driver_starts_and_evaluates():
    expected = [[0, 3, "starting"], [3, 4, "reading"], [10, 11, BETWEEN], [17, 18, BETWEEN]]
    assert lanes()["driver"] == expected


def test_the_parts_of_a_round_fill_it():
    spans = lanes()["worker 1"]
    assert spans[0][0] == 4 and spans[-1][1] == 17
    for (_, end, _), (start, _, _) in pairwise(spans):
        assert start == pytest.approx(end) or (end, start) == (10, 11)
    seconds = {kind: sum(b - a for a, b, k in spans if k == kind) for _, _, kind in spans}
    expected = {"reading": 1.2, "compute": 8.4, "averaging": 1.8, WAITING: 0.6}
    assert seconds == pytest.approx(expected, rel=1e-3)


def test_many_rounds_are_drawn_as_fewer(monkeypatch):
    many = len(lanes()["worker 0"])
    monkeypatch.setattr(module, "MOST", 2)
    spans = lanes()["worker 0"]
    assert len(spans) < many and (spans[0][0], spans[-1][1]) == (4, 17)


def test_waits_have_their_reasons_once():
    made = history()
    slow = WorkerFigures(50, 0.2, 1.6, 0.1)
    made.rounds[1] = replace(made.rounds[1], by_worker=(FIGURES, slow))
    found = reasons(made)
    assert [start for start, _ in found["driver"]] == [10, 17]
    assert found["driver"][0][1].startswith("restart: worker 1 </script>")
    assert found["driver"][1][1] == "evaluation after epoch 2"
    of_worker = [text for _, text in found["worker 0"]]
    assert of_worker[:3] == [DRIVER, "for worker 1, the slowest, which was computing", DRIVER]
    assert len(timeline(made)["reasons"]) == len(set(timeline(made)["reasons"]))


def test_a_restart_stands_at_its_second():
    [(second, text)] = timeline(history())["restarts"]
    assert second == 11 and text.startswith("worker 1 ") and "2 workers go on" in text


def test_a_worker_that_had_nothing_is_not_drawn_in_that_round():
    made = history()
    last = made.rounds[-1]
    made.rounds[-1] = replace(last, by_worker=last.by_worker[:1])
    spans = timeline(made)["lanes"][2]["spans"]
    assert spans[-1][1] == 15


def test_a_fit_without_rounds_has_the_driver_alone():
    found = timeline(History(phases={"starting": 2.0}))
    lanes = [{"name": "driver", "spans": [[0, 2, "starting"]]}]
    assert found == {"lanes": lanes, "restarts": [], "reasons": []}
    assert timeline(History())["lanes"][0]["spans"] == []


def test_parts_fill_a_stretch():
    assert scaled(1.0, 5.0, {"a": 1.0, "b": 0.0, "c": 3.0}) == [[1, 2, "a"], [2, 5, "c"]]
    assert scaled(0.0, 1.0, {}) == []
