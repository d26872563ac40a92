"""Choice of cuBLASLt's fastest algorithm for a product, timed on the device.

Results are cached on disk per device and library version for later processes.
"""

import ctypes
import logging
from ctypes import byref, c_int
from functools import partial

from sparkdl.engine.backends.cuda.device.memory_errors import lacks_memory, memory_error
from sparkdl.engine.backends.cuda.libraries import cublaslt_api as api
from sparkdl.engine.backends.cuda.libraries.cublaslt_api import (
    Algorithm,
    Heuristic,
    MatrixDescriptor,
)
from sparkdl.engine.native import cache
from sparkdl.errors import DeviceError, UnsupportedError

log = logging.getLogger(__name__)
WORKSPACE, CANDIDATES, REPEATS, WIDEST = 32 << 20, 8, 3, 256


def choose_algorithm(matmul, device):
    """Returns (algorithm, workspace bytes) for a Matmul."""
    key = key_of(matmul)
    if (cached := read_algorithm(matmul, key)) is not None:
        return cached
    proposed = candidates(matmul)
    times, complete = {}, True
    if len(proposed) > 1:
        times, complete = time_algorithms(matmul, device, proposed)
    best = proposed[min(times, key=times.get, default=0)]
    if complete and any(times.values()):  # later processes may have the memory lacking here
        cache.write(key, bytes(best[0]))
    return best


def read_algorithm(matmul, key):
    """Reads (algorithm, workspace bytes) from the cache, if the library accepts it."""
    content = cache.read(key)
    if content is None or len(content) != ctypes.sizeof(Algorithm):
        return None
    algorithm, result = Algorithm.from_buffer_copy(content), Heuristic()
    status = matmul.library.cublasLtMatmulAlgoCheck(*matmul.words, byref(algorithm), byref(result))
    refused = status or result.state or result.workspace > WORKSPACE
    return None if refused else (algorithm, result.workspace)


def key_of(matmul):
    device, name = matmul.adapter.driver.properties, matmul.adapter.name
    return cache.key_of(name, device.name, repr(device.capability), repr(matmul.key))


def candidates(matmul):
    """Returns [(algorithm, workspace bytes)] that the library proposes, best guess first.

    Raises
    ------
    UnsupportedError
        If it has none.
    MemoryError
        If it has no memory to propose any.
    """
    library = matmul.library
    limits = MatrixDescriptor(library, "MatmulPreference", api.PREFERENCE)
    limits.set(MAX_WORKSPACE_BYTES=WORKSPACE)
    others = [a for a in (matmul.product.vector, matmul.product.kept) if a is not None]
    arrays = [[array] for array in matmul.arrays]
    arrays[-1] += others  # arrays next to the result have no limit of their own
    for name, some in zip("ABCD", arrays, strict=True):
        limits.set(**{f"MIN_ALIGNMENT_{name}_BYTES": min(map(alignment, some))})
    results, count = (Heuristic * CANDIDATES)(), c_int()
    status = library.cublasLtMatmulAlgoGetHeuristic(
        *matmul.words, limits.pointer, CANDIDATES, results, byref(count)
    )
    good = [f for f in results[: count.value] if not f.state]
    if status or not good:
        message = library.cublasLtGetStatusName(status).decode() if status else "nothing"
        if lacks_memory(message):
            raise memory_error("cuBLASLt", message)
        raise UnsupportedError(f"the heuristic gives {message} for {matmul.product.epilogue!r}")
    return [(f.algorithm, f.workspace) for f in good]


def time_algorithms(matmul, device, proposed):
    """Returns {index: seconds} of the algorithms that run, and whether none of them lacked memory.

    If there is no memory for trials, the first is {}.
    """
    try:
        trial, times, complete = matmul.elsewhere(), {}, True
    except DeviceError as error:
        log.warning("a product may be slow: no memory to time cuBLASLt's algorithms: %s", error)
        return {}, False
    for index, (algorithm, size) in enumerate(proposed):
        try:
            workspace = device.workspace(size) if size else None
        except DeviceError:  # the device has no memory for it
            complete = False
            continue
        try:
            times[index] = seconds(device, partial(trial.put, algorithm, workspace))
        except MemoryError:
            complete = False
        except DeviceError:
            continue  # proposed by the library, yet refused
    return times, complete


def seconds(device, work):
    """Returns the time of the fastest of several runs, after a warm-up."""
    with device.lock:
        device.driver.seconds(work, device.stream)
        return min(device.driver.seconds(work, device.stream) for _ in range(REPEATS))


def alignment(array):
    """Returns the largest power of two, at most 256, that divides the array's address."""
    return min(array.address & -array.address, WIDEST)
