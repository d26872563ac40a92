"""Facts of a Python process: versions, processor, memory, disk, clock, GPUs.

This module is pickled by value, as executors may lack sparkdl, so it must not import sparkdl.
"""

import glob
import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import time

MODULES = "sparkdl", "pyspark"  # may be importable without being installed
PACKAGES = "numpy", "pyarrow", "pandas", "onednn-cpu-gomp", "safetensors", "cupy-cuda13x"
FEATURES = "avx2", "avx512f", "avx512_bf16", "amx_bf16"
KILOBYTE = 1024


def process_facts(name):
    """Returns {fact: value} of this process."""
    flags = processor_flags()
    return {
        "name": name,
        "host": platform.node(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": package_versions(),
        "library": library_problem(),
        "features": [feature for feature in FEATURES if feature in flags],
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "free_memory": free_memory(),
        "free_disk": free_disk(),
        "clock": time.time(),
        "gpus": len(glob.glob("/dev/nvidia[0-9]*")),
    }


def package_versions():
    """Returns {package: version}; None if missing, or why it cannot be imported."""
    found = {name: module_version(name) for name in MODULES}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def module_version(name):
    try:
        return importlib.import_module(name).__version__
    except ModuleNotFoundError as error:
        return None if error.name == name else f"not importable: {error}"
    except Exception as error:
        return f"not importable: {error}"


def library_problem():
    """Returns why oneDNN cannot be used here, or None if it can."""
    try:
        backends = importlib.import_module("sparkdl.engine.backends")
        return backends.absent("onednn")
    except Exception as error:
        return str(error)


def processor_flags():
    """Returns the processor's feature flags; an empty set if the system does not report them."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    return set(found[1].split()) if found else set()


def free_memory():
    """Returns the bytes that this process could still allocate, or None if unknown.

    A container's limit counts if it is lower than the machine's free memory.
    """
    available = re.search(r"^MemAvailable:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    free = [int(available[1]) * KILOBYTE] if available else []
    limit, used = read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory.current")
    if limit.strip().isdigit() and used.strip().isdigit():
        free.append(int(limit) - int(used))
    return min(free, default=None)


def free_disk():
    """Returns the free bytes of the fullest of Spark's folders on this host."""
    places = os.environ.get("LOCAL_DIRS") or os.environ.get("SPARK_LOCAL_DIRS")
    folders = places.split(",") if places else [tempfile.gettempdir()]
    return min(
        (shutil.disk_usage(folder).free for folder in filter(os.path.isdir, folders)), default=0
    )


def read(path):
    """Returns the text of a system file, "" if there is none."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
