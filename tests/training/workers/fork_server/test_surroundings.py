"""A worker has the mask, cores, priority and limits that its owner has when it starts."""

import os
import resource
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from sparkdl.training.workers.fork_server.surroundings import Surroundings
from tests.training.workers.fork_server.asked import ask, pid_of_server

FILES = resource.RLIMIT_NOFILE


@contextmanager
def with_mask():
    before = os.umask(0o27)
    yield "os.umask(0)", 0o27
    os.umask(before)


@contextmanager
def with_cores():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield "sorted(os.sched_getaffinity(0))", [min(before)]
    os.sched_setaffinity(0, before)


@contextmanager
def with_limit():
    soft, hard = resource.getrlimit(FILES)
    resource.setrlimit(FILES, (soft - 1, hard))
    yield f"__import__('resource').getrlimit({FILES})", (soft - 1, hard)
    resource.setrlimit(FILES, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("change", [with_mask, with_cores, with_limit])
def test_what_has_changed_since_the_server_began_is_new(change):
    before = pid_of_server()
    with change() as (question, expected):
        found = ask(question)
    assert found == expected
    assert pid_of_server() == before


def test_a_zone_of_time_is_read_by_c_too():
    found = Surroundings.of_this_process()
    try:
        replace(found, variables=found.variables | {"TZ": "Asia/Tokyo"}).take()
        assert time.localtime(0).tm_hour == 9
    finally:
        found.take()
        time.tzset()


def test_what_the_system_refuses_stays():
    found = Surroundings.of_this_process()
    replace(found, cores={9999}, limits={FILES: (2, 1)}).take()
    assert Surroundings.of_this_process() == found
