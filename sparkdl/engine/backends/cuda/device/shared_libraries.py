"""NVIDIA's shared libraries: from a wheel, else from the system loader's path."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

from sparkdl.errors import UnsupportedError


def load_library(name, names, cure):
    """Returns the library, loaded from the first of `names` that can be loaded.

    Parameters
    ----------
    name : name for the error
    names : names of files, best first
    cure : what to install, for the error

    Raises
    ------
    UnsupportedError
        If none can be loaded.
    """
    for path in (*wheels(names), *names):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise UnsupportedError(f"{name} was not found: {cure}")


def declare_signatures(library, signatures):
    """Declares the functions of a library, {name: (result type, argument types)}; returns it."""
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def wheels(names):
    """Returns the paths of these files in NVIDIA's packages."""
    spec = find_spec("nvidia")
    places = [Path(p) for p in spec.submodule_search_locations] if spec else []
    return [f for p in places for n in names for f in sorted(p.glob(f"*/lib/{n}"))]
