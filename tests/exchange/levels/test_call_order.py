"""Calls through shared memory that no thread can run fail; they do not wait for one."""

from types import SimpleNamespace

import pytest

from sparkdl.exchange.levels.call_order import CallOrder
from tests.exchange.few_threads import no_thread


@pytest.fixture
def failures():
    return []


@pytest.fixture
def order(failures):
    progress = SimpleNamespace(companions=[], check=lambda: None, fail=failures.append)
    order = CallOrder(progress, None)
    yield order
    order.close()


def steps():
    yield
    return 7


def test_later_calls_do_not_wait_for_one_that_could_not_start(order, monkeypatch):
    with no_thread(monkeypatch, "sparkdl-memory-1"):
        with pytest.raises(RuntimeError, match="start new thread"):
            order.start(steps())
    assert order.run(steps()) == 7
    assert order.start(steps()).wait() == 7


def test_a_call_without_a_thread_for_its_second_half_fails(order, failures, monkeypatch):
    with no_thread(monkeypatch, "sparkdl-memory-2"):
        job = order.start(steps())
        with pytest.raises(RuntimeError, match="start new thread"):
            job.wait()
    assert failures == [job._error]
    assert order.start(steps()).wait() == 7
