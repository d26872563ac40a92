"""Tasks of a stage exchange a message: all of them get it, or an error comes in time."""

import time
from threading import Event
from types import SimpleNamespace

import pytest

from sparkdl.errors import WorkerError
from sparkdl.spark.connect import stage_workers
from sparkdl.spark.connect.stage_workers import StageWorkers, tell_all

TASKS = [SimpleNamespace(address="one:1"), SimpleNamespace(address="two:2")]


def context(gather):
    return SimpleNamespace(allGather=gather, getTaskInfos=lambda: TASKS)


def test_a_word_goes_to_all():
    assert tell_all(context(lambda word: [word, "other"]), "word") == ["word", "other"]


def fail(word):
    raise RuntimeError("the stage was given up")


@pytest.mark.parametrize("gather", [lambda word: time.sleep(2), fail], ids=["waits", "fails"])
def test_a_task_that_does_not_come_is_waited_for_so_long(gather):
    with pytest.raises(WorkerError, match="not all 2 tasks of the stage have started within 0.2 s"):
        tell_all(context(gather), "word", limit=0.2)


def test_its_own_worker_is_waited_for_once_its_connections_are_closed(monkeypatch):
    hung_up, ends = Event(), []

    def train(*_):
        ends.append(hung_up.wait(60.0))  # as a worker that waits for a word of the driver's part

    monkeypatch.setattr(stage_workers, "train_in_task", train)
    workers = StageWorkers(context(lambda word: [word, ""]), iter(()), "auto")
    launched = workers.launch(None, None, None, None)
    launched.stop()
    hung_up.set()
    workers.close()
    assert ends == [True]
    assert launched.is_finished()
