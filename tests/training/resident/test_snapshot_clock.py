"""When a snapshot is due: after some seconds, and less often if it is slow."""

from types import SimpleNamespace

import pytest

from sparkdl.training.resident.snapshot_clock import RATE, SnapshotClock


class Time:
    now = 100.0

    def __call__(self):
        return self.now


def clock_for(seconds, numbers=0):
    now = Time()
    return SnapshotClock(seconds, SimpleNamespace(nbytes=4 * numbers), now), now


def due_after(clock, now, rounds=1):
    """Returns after how many whole seconds a snapshot is due."""
    for second in range(1000):
        if clock.is_due(rounds):
            return second
        now.now += 1
    return None


COSTS = {"nothing": (0.0, 3), "little": (0.05, 3), "much": (0.5, 25), "very much": (4.0, 200)}


@pytest.mark.parametrize("name", COSTS)
def test_a_fiftieth_of_the_time_goes_into_states(name):
    cost, seconds = COSTS[name]
    clock, now = clock_for(3.0)
    clock.restart(cost)
    assert due_after(clock, now) == seconds


def test_the_first_one_is_judged_by_its_size():
    assert due_after(*clock_for(3.0, numbers=int(RATE / 4 * 0.5))) == 25


def test_one_that_was_asked_for_is_not_asked_for_again_until_it_has_come():
    clock, now = clock_for(3.0)
    now.now += 3
    clock.wait_for(12)
    assert not clock.is_due(11)
    clock.restart(0.0)
    assert not clock.is_due(12)
    now.now += 3
    assert clock.is_due(12)


def test_without_seconds_it_is_never_due():
    assert due_after(*clock_for(None)) is None
