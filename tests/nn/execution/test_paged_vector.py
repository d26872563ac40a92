"""Vectors whose stretches acquire and release memory without affecting their neighbors."""

import mmap
import os
import signal

import numpy as np
import pytest

from sparkdl.nn.execution.paged_vector import PagedVector
from tests.support.processes import forking
from tests.support.waiting import LIMIT

PAGE = mmap.PAGESIZE // 4  # numbers per page


def test_pages_that_neighbors_share_stay_until_both_are_gone():
    vector, (a, b) = PagedVector(5 * PAGE), (slice(0, 2 * PAGE + 7), slice(2 * PAGE + 7, 5 * PAGE))
    assert vector.nbytes == 0
    vector.acquire(a)
    vector.acquire(b)
    assert vector.nbytes == 5 * mmap.PAGESIZE
    vector.values[:] = 1
    vector.release(a)
    assert vector.nbytes == 3 * mmap.PAGESIZE
    np.testing.assert_array_equal(vector.values[b], 1)
    vector.release(b)
    assert vector.nbytes == 0
    vector.acquire(a)
    np.testing.assert_array_equal(vector.values[a], 0)  # zeros, as in fresh memory


@pytest.mark.parametrize("part", [slice(0, 0), slice(PAGE, PAGE)])
def test_an_empty_stretch_takes_nothing(part):
    vector = PagedVector(PAGE)
    vector.acquire(part)
    vector.release(part)
    assert vector.nbytes == 0


def test_an_address_stays():
    vector = PagedVector(3 * PAGE)
    address = vector.values.ctypes.data
    vector.acquire(slice(0, PAGE))
    assert vector.values[:PAGE].ctypes.data == address


def read_what_is_gone():
    vector = PagedVector(PAGE)
    vector.acquire(slice(0, PAGE))
    vector.release(slice(0, PAGE))
    os._exit(int(vector.values[0]))


@pytest.mark.slow
def test_who_reads_what_is_gone_does_not_go_on():
    process = forking.Process(target=read_what_is_gone)
    process.start()
    process.join(LIMIT)
    assert process.exitcode == -signal.SIGSEGV
