"""Finding oneDNN: a shared library of version 3, from a wheel or the system."""

import ctypes
import os
import sys
from ctypes.util import find_library
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from sparkdl.errors import UnsupportedError

VARIABLE = "SPARKDL_ONEDNN"
PACKAGES = ("onednn-cpu-gomp",)
RUNTIMES = {2: "OpenMP", 4: "TBB"}  # dnnl_cpu_runtime; others need their own scheduler


class Version(ctypes.Structure):
    """dnnl_version_t"""

    _fields_ = [(n, ctypes.c_int) for n in ("major", "minor", "patch")]
    _fields_ += [("hash", ctypes.c_char_p), ("cpu", ctypes.c_uint), ("gpu", ctypes.c_uint)]


@lru_cache(maxsize=1)
def load():
    """Loads the library.

    By default, waiting threads of libgomp spin, burning cores that other executors of the host
    need, which costs a factor of 20. Its spin count is therefore limited before loading, unless the
    user has set it.

    Raises
    ------
    UnsupportedError
        If none is found; names what was tried.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "500")
    tried = []
    for path in candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            tried.append(f"{path}: {error}")
            continue
        reason = refusal(library)
        if reason is None:
            return library
        tried.append(f"{path}: {reason}")
    raise UnsupportedError(
        f"oneDNN was not found ({'; '.join(tried) or 'no libdnnl anywhere'}); "
        f"install onednn-cpu-gomp, or let {VARIABLE} name a libdnnl.so.3"
    )


def candidates():
    """Yields the possible paths of the library, best first."""
    if VARIABLE in os.environ:
        yield os.environ[VARIABLE]
        return
    for name in PACKAGES:
        yield from files_of(name)
    yield from sorted(Path(sys.prefix, "lib").glob("libdnnl.so.3*"))
    system = find_library("dnnl")  # last, as it runs a compiler and other tools
    if system:
        yield system


def files_of(package):
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return []
    return [file.locate() for file in files if file.name == "libdnnl.so.3"]


def refusal(library):
    """Returns why a library cannot be used, or None."""
    library.dnnl_version.restype = ctypes.POINTER(Version)
    version = library.dnnl_version().contents
    if version.major != 3:
        return f"version {version.major}.{version.minor}, not 3"
    if version.cpu not in RUNTIMES:
        return f"CPU runtime {version.cpu}, not OpenMP or TBB"
    return None
