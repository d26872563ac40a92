"""Calls at the same time, on threads of OpenMP's pool."""

import threading

import pytest
from threadpoolctl import threadpool_limits

from sparkdl.engine.backends import base
from sparkdl.engine.native.threads import AtOnce, pool

base.get("onednn")  # loads the library of the pool


def test_two_calls_run_at_the_same_time():
    both = threading.Barrier(2, timeout=20)  # broken where one waits for the other to end
    call = AtOnce(pool(), [both.wait, both.wait])
    with threadpool_limits(2):
        call()
        call()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_call_runs_once_each_time(count):
    ran = []
    call = AtOnce(pool(), [lambda i=i: ran.append(i) for i in range(count)])
    for _ in range(3):
        call()
    assert sorted(ran) == sorted(3 * [*range(count)])


def test_an_error_is_raised_when_the_others_have_ended():
    ran = []

    def fail():
        raise KeyError("gone")

    call = AtOnce(pool(), [fail, lambda: ran.append(1)])
    for times in (1, 2):
        with pytest.raises(KeyError, match="gone"):
            call()
        assert len(ran) == times
