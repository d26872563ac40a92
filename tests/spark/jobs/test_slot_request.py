"""Requests for slots under dynamic allocation."""

import time
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace

import pytest

from sparkdl.spark.jobs import slot_request
from sparkdl.spark.jobs.job_tags import count_tasks
from sparkdl.spark.jobs.slot_request import SlotWish, request_slots, tasks_waiting
from tests.support.waiting import until

ENABLED = "spark.dynamicAllocation.enabled"
MAXIMUM = "spark.dynamicAllocation.maxExecutors"
MOST = {ENABLED: "true", MAXIMUM: "3"}
# Options, (slots, executors) at each look, number of slots wanted, whether tasks wait.
REQUESTS = {
    "static": ({}, [(1, 1)], 4, False),
    "there is room": ({ENABLED: "true"}, [(4, 2)], 4, False),
    "no more executors": (MOST, [(3, 3)], 4, False),
    "they come": ({ENABLED: "true"}, [(0, 0), (0, 0), (2, 1), (4, 2)], 4, True),
    "the most come": (MOST, [(0, 0), (2, 2), (3, 3)], 4, True),
    "no more come": ({ENABLED: "true"}, [(0, 0), (1, 1)], 4, True),
}


@pytest.mark.parametrize("options, seen, count, waits", REQUESTS.values(), ids=REQUESTS)
def test_tasks_wait_until_executors_have_come(options, seen, count, waits, monkeypatch):
    sc = SimpleNamespace(master="yarn", _conf=options)
    state = {"look": 0, "held": 0, "now": 0.0}

    class Waiting:
        def __init__(self, sc, tasks, resources):
            assert tasks == count

        def __enter__(self):
            state["held"] += 1

        def __exit__(self, *_):
            state["held"] -= 1
            state["waited"] = True

    def sleep(seconds):
        assert state["held"] == 1
        state["look"] += 1
        state["now"] += 1.0

    def look(number):
        return lambda sc, resources=None: seen[min(state["look"], len(seen) - 1)][number]

    monkeypatch.setattr(slot_request, "tasks_waiting", Waiting)
    monkeypatch.setattr(slot_request, "concurrent_tasks", look(0))
    monkeypatch.setattr(slot_request, "executors", look(1))
    times = SimpleNamespace(sleep=sleep, monotonic=lambda: state["now"])
    monkeypatch.setattr(slot_request, "time", times)
    request_slots(sc, count)
    assert state.get("waited", False) == waits
    assert state["now"] < 2 * slot_request.PATIENCE


def test_the_tasks_that_wait_are_gone_afterwards(sc):
    begun = time.monotonic()
    with tasks_waiting(sc, 3, None) as tag:
        assert until(lambda: count_tasks(sc, tag) == 2, 60)
    assert not count_tasks(sc, tag)
    assert sc.parallelize([1, 2], 2).sum() == 3
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("most, waits", [("2", False), ("3", True)])
def test_a_wish_stands_beside_a_stage_until_it_is_withdrawn(most, waits, sc, monkeypatch):
    """Spark is asked for more once the stage has its slots, unless it is at its maximum."""
    stage, asked, looks = Event(), [], []

    @contextmanager
    def waiting(sc, count, resources):
        with tasks_waiting(sc, count, resources) as tag:
            asked.append(tag)
            yield tag

    monkeypatch.setattr(slot_request, "tasks_waiting", waiting)
    monkeypatch.setattr(slot_request, "option", lambda *key: looks.append(key) or most)
    wish = SlotWish(sc, 3, None, stage.is_set)
    time.sleep(3 * slot_request.POLL)
    assert not asked
    stage.set()
    assert until(lambda: looks, 60)
    assert until(lambda: not waits or (asked and count_tasks(sc, asked[0]) == 2), 60)
    wish.withdraw()
    wish.wait()
    assert bool(asked) == waits and not any(count_tasks(sc, tag) for tag in asked)


def test_a_wish_is_made_again_and_leaves_the_slots_in_between(monkeypatch):
    seen = []

    @contextmanager
    def waiting(sc, count, resources):
        seen.append("begins")
        yield "tag"
        seen.append("ends")

    monkeypatch.setattr(slot_request, "tasks_waiting", waiting)
    monkeypatch.setattr(slot_request, "may_grow", lambda sc: True)
    counts = [0, 0, 0]  # nothing comes at first, so the request goes on
    monkeypatch.setattr(slot_request, "count_tasks", lambda sc, tag: counts.pop() if counts else 1)
    monkeypatch.setattr(slot_request, "WISHING", 0.01)
    monkeypatch.setattr(slot_request, "RESTING", 0.01)
    wish = SlotWish(None, 3, None, lambda: True)
    assert until(lambda: len(seen) > 6, 60)
    wish.withdraw()
    wish.wait()
    assert seen[:6] == ["begins", "ends"] * 3 and seen[-1] == "ends"


def test_a_wish_of_a_stage_that_never_began_asks_for_nothing(sc):
    wish = SlotWish(sc, 3, None, lambda: False)
    wish.withdraw()
    wish.wait()
    assert not wish._thread.is_alive()
