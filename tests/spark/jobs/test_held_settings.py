"""Settings held by several threads at once are restored in the end."""

import os
import time
from contextlib import ExitStack, nullcontext

import pytest

from sparkdl.spark.jobs.error_notes import SIMPLIFIED_TRACEBACK
from sparkdl.spark.jobs.held_settings import hold_setting
from sparkdl.spark.jobs.job import (
    EXECUTOR_WAIT,
    LOCALITY_WAIT,
    no_waiting_for_locality,
    staying_with_data,
)
from sparkdl.spark.jobs.shared_processes import SIMPLIFIED, shared_processes
from sparkdl.spark.jobs.slots import active_tasks, executor_locations, slots
from sparkdl.spark.records.locality import parallelize_at
from tests.support.waiting import until


class Settings(dict):
    """Settings as one thread sees them; unset ones are absent."""

    def hold(self, name, value):
        return hold_setting(
            (id(self), name), value, lambda: self.get(name), lambda x: self.write(name, x)
        )

    def write(self, name, value):
        self.pop(name, None)
        if value is not None:
            self[name] = value


@pytest.mark.parametrize("before", [{}, {"wait": "3s"}])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_last_who_holds_a_setting_puts_back_what_the_first_found(before, order):
    settings = Settings(before)
    holds = [settings.hold("wait", "0") for _ in order]
    for each in holds:
        each.__enter__()
        assert settings == {"wait": "0"}
    for number in order[:-1]:
        holds[number].__exit__(None, None, None)
        assert settings == {"wait": "0"}
    holds[order[-1]].__exit__(None, None, None)
    assert settings == before
    with pytest.raises(KeyError), settings.hold("wait", "1"):
        raise KeyError
    assert settings == before


def test_a_setting_that_is_refused_is_held_by_nobody():
    settings = Settings(wait="3s")

    def refuse(value):
        raise ValueError(value)

    with pytest.raises(ValueError), hold_setting((id(settings), "wait"), "0", dict, refuse):
        pass
    with settings.hold("wait", "1"):
        assert settings == {"wait": "1"}
    assert settings == {"wait": "3s"}


@pytest.fixture
def simplified(spark):
    """Spark's default, where a session of sparkdl has another."""
    before = spark.conf.get(SIMPLIFIED)
    spark.conf.set(SIMPLIFIED, "true")
    yield
    spark.conf.set(SIMPLIFIED, before)


@pytest.mark.usefixtures("simplified")
def test_two_fits_at_once_leave_the_settings_of_the_user(spark, sc):
    """The fits overlap, so the first to begin is the first to end."""
    conf = sc._jsc.sc().conf()

    def settings():
        return [conf.get(name, None) for name in (LOCALITY_WAIT, EXECUTOR_WAIT)] + [
            sc.environment.get(SIMPLIFIED_TRACEBACK)
        ]

    def fit():
        stack = ExitStack()
        stack.enter_context(shared_processes(sc, spark.range(1)))
        stack.enter_context(staying_with_data(sc))
        stack.enter_context(no_waiting_for_locality(sc))
        return stack

    before = settings()
    with fit() as first, fit() as second:
        assert settings() == ["0", "1h", "1"]
        first.close()
        assert settings() == ["0", "1h", "1"]
        second.close()
        assert settings() == before


def name_folder(_):
    time.sleep(0.5)
    return [os.getcwd()]  # each executor has its own


def test_tasks_stay_with_data_while_others_wait_for_nothing(sc):
    assert slots(sc) == 2
    assert until(lambda: active_tasks(sc) == 0)  # of fits that ended before
    place = executor_locations(sc)[:1]
    tasks = parallelize_at(sc, [0, 1], [place, place]).mapPartitions(name_folder)
    found = []
    for staying in (nullcontext(), staying_with_data(sc)):
        with staying, no_waiting_for_locality(sc):
            found.append(len(set(tasks.collect())))
    assert found == [2, 1]
