"""NVIDIA's shared libraries: from a wheel, else from where the system's loader looks."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

from sparkdl.errors import UnsupportedError


def load_library(name, names, cure):
    """Returns the library, loaded by the first of `names` that there is.

    Parameters
    ----------
    name : how it is called in the error
    names : of files, the best first
    cure : what to install, for the error

    Raises
    ------
    UnsupportedError
        Where none can be loaded.
    """
    for path in (*wheels(names), *names):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise UnsupportedError(f"{name} was not found: {cure}")


def declare_signatures(library, signatures):
    """Declares the library's functions, {name: (type of the result, types of arguments)}."""
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def wheels(names):
    """Returns the paths of these files in packages of NVIDIA's."""
    spec = find_spec("nvidia")
    places = [Path(p) for p in spec.submodule_search_locations] if spec else []
    return [f for p in places for n in names for f in sorted(p.glob(f"*/lib/{n}"))]
