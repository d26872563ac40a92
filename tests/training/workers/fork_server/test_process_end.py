"""The end of a process that its owner kills, and what is said of it."""

from multiprocessing import get_context
from time import sleep
from types import SimpleNamespace

import pytest

from sparkdl.training.workers.fork_server.process_end import LIMIT, describe_end, kill_process


@pytest.mark.slow
def test_a_process_is_gone_once_it_is_killed(caplog):
    process = get_context("spawn").Process(target=sleep, args=(600,))
    process.start()
    kill_process(process, "worker 2")
    assert (process.exitcode, describe_end(process)) == (-9, "exit code -9")
    assert not caplog.text


def test_one_that_stays_is_named_with_its_cure(caplog):
    calls = []
    process = SimpleNamespace(
        kill=lambda: calls.append("kill"), join=calls.append, is_alive=lambda: True
    )
    kill_process(process, "process 42 on GPU 3", "; check its GPU")
    assert calls == ["kill", LIMIT]
    assert caplog.messages == [
        "process 42 on GPU 3: has not ended 30 s after it was killed; check its GPU"
    ]


@pytest.mark.parametrize(
    ("popen", "text"),
    [
        (SimpleNamespace(), "exit code -9"),
        (SimpleNamespace(has_lost_server=False), "exit code -9"),
        (
            SimpleNamespace(has_lost_server=True),
            "exit code -9, as the process that had forked it has ended",
        ),
    ],
)
def test_the_end_of_its_server_is_told(popen, text):
    assert describe_end(SimpleNamespace(exitcode=-9, _popen=popen)) == text
