"""JAX's programs in tests: each runs once or twice, so their cost is compilation.

A program of a few operations holds more than a megabyte until the process ends.
"""

import ctypes
import gc
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

import psutil

MUCH = 200 << 20  # bytes that a process may grow by before it forgets
PLAIN = [  # for a program that runs once or twice: compiled in a sixth of the time
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    # Without FMA, what is worked out twice is the same to the bit: a maximum finds its place.
    "--xla_cpu_max_isa=AVX",
]
EMITTERS_OFF = "--xla_cpu_use_fusion_emitters=false"  # they go through MLIR
NEWEST_WITH_EMITTERS = 0, 11, 0  # later versions of jaxlib end a process that has the flag

_after_last = 0


def keep_programs():
    """Makes JAX, once loaded, compile with few optimizations and cache programs on disk for later
    runs.

    Without the last of PLAIN, or with JAX_DISABLE_MOST_OPTIMIZATIONS, gradients of masked maxima
    would be wrong.
    """
    folder = Path(__file__).parents[2] / ".pytest_cache" / "jax"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    if platform.machine().lower() in ("x86_64", "amd64"):  # others cannot do without FMA
        flags = flags_of(installed_version())
        os.environ["XLA_FLAGS"] = " ".join([*flags, os.environ.get("XLA_FLAGS", "")])


def installed_version():
    """Returns jaxlib's version, or None where it is missing."""
    try:
        return metadata.version("jaxlib")
    except metadata.PackageNotFoundError:
        return None


def flags_of(version):
    """Returns PLAIN, and EMITTERS_OFF for a version of jaxlib that knows it."""
    if version is None:
        return []
    numbers = re.match(r"\d+(\.\d+)*", version)[0]  # without "rc1" or "+cuda12"
    release = tuple(map(int, numbers.split(".")[:3]))
    return [*PLAIN, EMITTERS_OFF] if release <= NEWEST_WITH_EMITTERS else PLAIN


def forget_programs():
    """Frees the memory of JAX's compiled programs if the process has grown since the last call.

    Called after each test: the programs of one file take up to a gigabyte.
    """
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
    """Returns this process's memory in bytes."""
    return psutil.Process().memory_info().rss  # asked anew: it may be a fork
