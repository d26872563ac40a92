"""Concurrent lists of primitives: each runs once, on threads of the pool."""

import ctypes
import threading
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_limits

from sparkdl.engine.backends import base
from sparkdl.engine.native.primitive_lists import at_once
from sparkdl.engine.native.threads import pool
from sparkdl.errors import UnsupportedError

EXECUTE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)
BACKEND = base.get("onednn")  # loads the pool's library


def make(lists, execute, threads=2):
    """Returns the call of lists of numbered primitives; `execute` stands in for oneDNN's."""
    calls = [[SimpleNamespace(words=(n, n + 1, n + 2, n + 3)) for n in some] for some in lists]
    entry = EXECUTE(execute)
    call = at_once(calls, entry, BACKEND.compiler)

    def run(keep=(calls, entry)):
        with threadpool_limits(threads):
            call()

    return run


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("lists", [[[10], [20]], [[10, 11], [20, 21, 22]], [[], [20]]])
def test_each_primitive_runs_once_each_time_in_the_order_of_its_list(lists, threads):
    ran = []

    def execute(*words):
        ran.append((threading.get_ident(), *words))
        return 0

    call = make(lists, execute, threads)
    for _ in range(3):
        ran.clear()
        call()
        for some in lists:
            own = [row for row in ran if row[1] in some]
            assert [row[1:] for row in own] == [(n, n + 1, n + 2, n + 3) for n in some]
            assert len({row[0] for row in own}) <= 1
        assert len(ran) == sum(map(len, lists))


def test_two_lists_run_at_the_same_time():
    assert pool().get_size() > 1, "an earlier test left its process one thread"
    both = threading.Barrier(2, timeout=20)  # breaks if one list waits for the other

    def execute(*_):
        both.wait()
        return 0

    make([[1], [2]], execute)()
    assert not both.broken


def test_a_team_of_one_thread_runs_them_one_after_the_other():
    threads = set()

    def execute(*_):
        threads.add(threading.get_ident())
        return 0

    make([[1], [2]], execute, threads=1)()
    assert threads == {threading.get_ident()}


def test_a_primitive_that_fails_is_told():
    answers = [0, 3, 0, 0]  # of the first run, then of the second

    def execute(*_):
        return answers.pop(0)

    call = make([[1], [2]], execute)
    with pytest.raises(UnsupportedError, match="oneDNN refuses primitive_execute .status 3"):
        call()
    call()
    assert not answers
