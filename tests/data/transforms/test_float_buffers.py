"""Buffers are reused, but never while something refers to them."""

import gc
import threading
from collections import deque

import numpy as np
import pytest

from sparkdl.data.transforms import float_buffers as module
from sparkdl.data.transforms.float_buffers import BUFFERS_OF_A_SIZE, LEAST, SIZES, float_buffer

LARGE = LEAST // 4


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    monkeypatch.setattr(module, "_free", {})


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again():
    first = address(float_buffer((2, LARGE)))
    gc.collect()
    y = float_buffer((LARGE, 2))
    assert address(y) == first and y.shape == (LARGE, 2) and y.dtype == np.float32
    assert y.flags.writeable and y.flags.c_contiguous


@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[1:], lambda y: y.reshape(-1)[::2][3:]])
def test_memory_that_is_held_is_not(view):
    held = view(float_buffer((2, LARGE)))
    held[...] = 7
    gc.collect()
    others = [float_buffer((2, LARGE)) for _ in range(2 * BUFFERS_OF_A_SIZE)]
    for other in others:
        other[...] = 1
    assert (held == 7).all()
    assert len({address(other) for other in others}) == 2 * BUFFERS_OF_A_SIZE


def test_only_some_is_kept():
    held = [float_buffer((LARGE,)) for _ in range(3 * BUFFERS_OF_A_SIZE)]
    del held
    for n in range(1, 2 * SIZES):
        float_buffer((LARGE * n,))
    gc.collect()
    assert len(module._free) == SIZES and all(
        len(b) <= BUFFERS_OF_A_SIZE for b in module._free.values()
    )


def test_small_arrays_are_those_of_numpy():
    assert float_buffer((3, 4)).base is None and float_buffer((0, 5)).shape == (0, 5)


def test_a_buffer_may_be_given_back_while_another_is_taken(monkeypatch):
    cycle = [float_buffer((LARGE,))]
    cycle.append(cycle)
    del cycle  # garbage until the collector finds it

    def collecting():
        gc.collect()
        return deque()

    monkeypatch.setattr(module, "deque", collecting)
    thread = threading.Thread(target=float_buffer, args=((2 * LARGE,),), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_threads_do_not_share():
    found = []

    def work(value):
        for _ in range(200):
            y = float_buffer((LARGE,))
            y[:] = value
            found.append((y == value).all())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800 and all(found)
