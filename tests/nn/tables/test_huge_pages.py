"""Arrays in their own memory pages, against numpy's."""

import gc
import os
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from sparkdl.nn.tables import huge_pages
from sparkdl.nn.tables.huge_pages import LARGE, PAGE, allocate, grow

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="mremap is Linux's")
SHAPES = {"rows": ((1000, 16), np.float32), "ids": ((3000,), np.int64), "marks": ((9,), bool)}


def is_mapped(address):
    """Returns whether this process has memory mapped at an address."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = (line.split()[0].split("-") for line in lines)
    return any(int(start, 16) <= address < int(stop, 16) for start, stop in spans)


@pytest.mark.slow
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_rows_stay_and_zeros_follow(name, moves, monkeypatch):
    if not moves:  # as on macOS
        monkeypatch.setattr(huge_pages, "system", lambda: None)
    shape, dtype = SHAPES[name]
    rng, array = np.random.default_rng(1), allocate(shape, dtype)
    assert array.dtype == dtype and array.shape == shape and not array.any()
    want = array[:] = rng.integers(0, 2, shape).astype(dtype)
    row, others = array[:1].nbytes, []
    for nbytes in (LARGE // 2, LARGE, LARGE + 1, LARGE + PAGE, 3 * LARGE, 5 * LARGE + 77):
        length = -(-nbytes // row)
        others.append(np.empty(LARGE, np.int8))  # blocks growth in place
        array = grow(array, length)
        assert array.dtype == dtype and array.shape == (length, *shape[1:])
        assert array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
        np.testing.assert_array_equal(array[: len(want)], want)
        assert not array[len(want) :].any()
        want = array[:] = rng.integers(0, 2, array.shape).astype(dtype)


@pytest.mark.slow
@on_linux
def test_pages_are_huge_and_given_back():
    array = allocate((LARGE,), np.int8)
    address = array.ctypes.data
    assert address % PAGE == 0 and is_mapped(address) and is_mapped(address + LARGE - 1)
    array = grow(array, 4 * LARGE)
    now = array.ctypes.data
    assert now % PAGE == 0 and is_mapped(now + 4 * LARGE - 1)
    assert now == address or not is_mapped(address)
    view = array[5:9]
    del array
    gc.collect()
    assert is_mapped(now) and not view.any()
    del view
    gc.collect()
    assert not is_mapped(now)


@on_linux
def test_growth_does_not_copy():
    """Peak memory grows by the new part only, not by a copy of the old."""
    pid = os.fork()
    if not pid:
        array = allocate((64 * PAGE,), np.int8)
        array[:] = 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        array = grow(array, 65 * PAGE)
        array[-1] = array[0]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os._exit(0 if grown * 1024 < 8 * PAGE else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@on_linux
@pytest.mark.parametrize("extra", [PAGE, 1 << 30])
def test_memory_that_is_not_there(extra):
    """`extra` is the memory allowed on top of what the process uses."""
    pid = os.fork()
    if not pid:
        os._exit(grow_under_limit(extra))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def grow_under_limit(extra):
    """Returns 0 if a failed growth raises an error and leaves the array as it was."""
    array = allocate((LARGE,), np.int8)
    array[:] = 1
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, resource.RLIM_INFINITY))
    for attempt in (lambda: grow(array, LARGE + extra + PAGE), lambda: allocate((2 << 30,), bool)):
        try:
            attempt()
            return 1
        except MemoryError as error:
            if "bytes for an array of a table" not in str(error):
                return 2
    return 0 if array.all() and grow(array, LARGE + PAGE // 2)[:LARGE].all() else 3
