"""Tasks of a stage exchange a message: all of them get it, or an error comes in time."""

import time
from types import SimpleNamespace

import pytest

from sparkdl.errors import WorkerError
from sparkdl.spark.connect.stage_workers import tell_all


def context(gather):
    return SimpleNamespace(allGather=gather, getTaskInfos=lambda: ["", ""])


def test_a_word_goes_to_all():
    assert tell_all(context(lambda word: [word, "other"]), "word") == ["word", "other"]


def fail(word):
    raise RuntimeError("the stage was given up")


@pytest.mark.parametrize("gather", [lambda word: time.sleep(2), fail], ids=["waits", "fails"])
def test_a_task_that_does_not_come_is_waited_for_so_long(gather):
    with pytest.raises(WorkerError, match="not all 2 tasks of the stage have started within 0.2 s"):
        tell_all(context(gather), "word", limit=0.2)
