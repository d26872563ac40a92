"""JAX's programs in tests: each runs once or twice, so compiling is what they cost.

One of a few operations holds more than a megabyte for as long as the process lives.
"""

import ctypes
import gc
import os
import sys
from pathlib import Path

import psutil

MUCH = 200 << 20  # bytes that a process may grow by before it forgets
PLAIN = [  # what is made of a program that runs once: compiled in a sixth of the time
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",  # they go through MLIR
    "--xla_cpu_parallel_codegen_split_count=1",
]

_after_last = 0


def keep_programs():
    """From now on JAX, once loaded, compiles plainly and keeps on disk what it has compiled, for
    later runs too.

    With JAX_DISABLE_MOST_OPTIMIZATIONS it would compile faster, and gradients of masked maxima
    would be wrong.
    """
    folder = Path(__file__).parents[2] / ".pytest_cache" / "jax"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    os.environ["XLA_FLAGS"] = " ".join([*PLAIN, os.environ.get("XLA_FLAGS", "")])  # theirs count


def forget_programs():
    """Free the memory of what JAX has compiled, where the process has grown since the last time."""
    global _after_last
    if "jax" not in sys.modules or held() < _after_last + MUCH:
        return
    sys.modules["jax"].clear_caches()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed memory without it
    if trim:
        trim(0)
    _after_last = held()


def held():
    """Bytes of memory that this process has."""
    return psutil.Process().memory_info().rss
