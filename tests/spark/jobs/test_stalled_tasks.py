"""Tasks that stall their job: they are rerun, or the job fails."""

import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sparkdl.errors import WorkerError
from sparkdl.spark.jobs import job_watch, stalled_tasks
from sparkdl.spark.jobs.job import describe_jobs, watch
from sparkdl.spark.jobs.stalled_tasks import StalledTasks
from sparkdl.training.network import Network
from tests.spark.networks import arrays, rich
from tests.spark.slow import Fault, Trap
from tests.spark.test_killed_executor import EPOCHS, MASTER, RECORDS, fit
from tests.support.waiting import gone, until
from tests.training.models import assert_equal

LIMIT = 2.0  # seconds: longer than the start of a round's task takes on a busy machine
SHORT = 1.0  # seconds, for tasks that stall or rest, however late they start


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(job_watch, "POLL", 0.1)
    monkeypatch.setattr(stalled_tasks, "MOST_ENDED", 2)


def test_a_stopped_process_costs_time_and_nothing_else(sc, tmp_path, caplog, monkeypatch):
    master = replace(MASTER, stall_timeout=LIMIT)
    monkeypatch.setattr("tests.spark.test_killed_executor.MASTER", master)
    monkeypatch.setattr(stalled_tasks, "MOST_ENDED", 99)  # others may be late if busy
    trap = Trap(str(tmp_path), after=4)
    fault = Fault(trap, lambda process: process.suspend())
    fault.start()
    net, _ = fit(sc, trap)
    assert until(lambda: gone(fault.victim))
    assert "it is killed and runs again" in caplog.text and "on 127.0.0.1 (executor" in caplog.text
    quiet = Network(rich())
    quiet.fit(arrays(RECORDS), epochs=EPOCHS, master=master)
    assert_equal(net.network.state, quiet.state)


def run(sc, function, limit, usual=None, tasks=2):
    description = "a round on 2 blocks"
    questions = [] if limit is None else [StalledTasks(sc, description, limit, usual)]
    with describe_jobs(sc, description), watch(sc, description, *questions):
        return sc.parallelize(range(tasks), tasks).map(function).collect()


def stop(which, folder, number):
    """Stops this process if `number` is in `which`, and leaves a file that says so."""
    if number in which:
        Path(folder, f"{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return number


def test_one_that_stalls_each_time_ends_the_job(sc, tmp_path, caplog):
    with pytest.raises(
        WorkerError, match=r"^task 1 on \S+ \(executor \d\): .*2 before it were killed"
    ):
        run(sc, partial(stop, {1}, tmp_path), SHORT)
    assert caplog.text.count("it is killed and runs again") == 2
    assert list(tmp_path.iterdir())
    assert run(sc, partial(stop, set(), tmp_path), LIMIT) == [0, 1]


def test_where_none_has_ended_an_earlier_round_says_how_long_it_takes(sc, tmp_path):
    with pytest.raises(WorkerError, match="before it were killed"):
        run(sc, partial(stop, {0, 1}, tmp_path), SHORT, usual=0.01)


@pytest.mark.parametrize("usual", [None, 100.0])
def test_those_that_may_just_be_long_are_left_alone(sc, usual, caplog):
    assert run(sc, rest, SHORT, usual, tasks=1) == [0]
    assert "no task of 'a round on 2 blocks' has ended for" in caplog.text
    assert "it is killed and runs again" not in caplog.text


def rest(number):
    time.sleep(2 * SHORT)
    return number


def test_quick_jobs_are_not_looked_at(sc, caplog):
    assert run(sc, abs, 100.0) == run(sc, abs, None) == [0, 1]
    assert not caplog.text
