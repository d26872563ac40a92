"""Vectors lent to another library, which computes on the device between programs and the host."""

import ctypes

import numpy as np

from sparkdl.engine import compile
from tests.engine.support import trace

SIZE = 5


def write(lent, name, numbers):
    """Imitates the library: writes at once to a vector's device memory."""
    memory, values = lent.memory(name), np.asarray(numbers, np.float32)
    assert memory.size == values.size and memory.dtype == np.float32
    ctypes.memmove(memory.address, values.ctypes.data, values.nbytes)


def read(lent, name):
    memory = lent.memory(name)
    return np.frombuffer(ctypes.string_at(memory.address, memory.nbytes), memory.dtype)


def test_what_the_host_wrote_is_there_and_what_a_library_writes_comes_back(cuda):
    vectors = {name: cuda.vector(np.zeros(SIZE, np.float32)) for name in ("params", "grad")}
    lent = cuda.lend(vectors)
    vectors["params"].open()[:] = 3
    with lent.computing("grad"):
        write(lent, "grad", 2 * read(lent, "params"))
    np.testing.assert_array_equal(vectors["grad"].open(), np.full(SIZE, 6))
    np.testing.assert_array_equal(vectors["params"].open(), np.full(SIZE, 3))


def test_a_library_comes_behind_what_is_on_the_stream(cuda):
    vector = cuda.vector(np.zeros(SIZE, np.float32))
    lent = cuda.lend({"params": vector})
    lent._device.driver.fill(vector.memory, 0xFF, lent._device.stream)  # before it, and late
    vector.mark_written()
    vector.host_newer = False
    with lent.computing("params") as address:
        assert address == lent._device.driver.address(lent._device.stream)
        write(lent, "params", np.arange(SIZE))
    np.testing.assert_array_equal(vector.open(), np.arange(SIZE))


def test_a_failure_of_a_library_leaves_the_device_to_others(cuda):
    vector = cuda.vector(np.ones(SIZE, np.float32))
    lent = cuda.lend({"params": vector})
    try:
        with lent.computing("params"):
            raise RuntimeError
    except RuntimeError:
        np.testing.assert_array_equal(vector.open(), np.ones(SIZE))


def test_a_program_reads_what_a_library_wrote(cuda):
    vector = cuda.vector(np.zeros(SIZE, np.float32))
    lent = cuda.lend({"x": vector})
    graph = trace(lambda x: x * 2, np.zeros(SIZE, np.float32))
    [name] = graph.inputs
    program = compile(graph, "cuda", {name: vector.open()})
    with lent.computing("x"):
        write(lent, "x", np.arange(SIZE))
    [y] = program.run({}).values()
    np.testing.assert_array_equal(y, 2 * np.arange(SIZE))
    assert lent.number == 0 and lent.mark() is not None
