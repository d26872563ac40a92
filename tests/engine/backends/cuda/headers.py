"""NVIDIA's headers from installed wheels: their constants and function signatures."""

import ctypes
import re

import pytest

from sparkdl.engine.backends.cuda.device.shared_libraries import wheels
from sparkdl.errors import UnsupportedError

C_TYPES = {
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
}
HANDLES = re.compile(r"(Handle|Desc|Descriptor|MatrixLayout|Preference|Stream)_t$")


def header(names, libraries):
    """Returns the text of headers shipped with a library, without comments, or None if missing."""
    found = [path.parent.parent / "include" for path in wheels(libraries)]
    if not found:
        return None
    texts = [path.read_text() for n in names if (path := found[0] / n).exists()]
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", "\n".join(texts), flags=re.DOTALL)


def library_of(api):
    """Returns the library of a table of functions; skips the test where it is not installed."""
    try:
        return api.library()
    except UnsupportedError as error:
        pytest.skip(str(error))


def number(text, name):
    return int(re.search(rf"\b{name}\s*=\s*(\d+)", text)[1])


def assert_signature(text, name, ours, given):
    """Asserts that a function's result and parameter types match our table."""
    pattern = rf"([\w ]+[\s*]+)(?:CUBLAS|CUDNN)WINAPI\s+{name}\s*\(([^)]*)\)"
    result, parameters = re.search(pattern, text).groups()
    expected = [p.strip() for p in parameters.split(",") if p.strip() not in ("", "void")]
    assert len(given) == len(expected), expected
    for parameter, kind in zip(expected, given, strict=True):
        assert fits(kind, parameter), (name, parameter, kind)
    assert ours is ctypes.c_char_p if "char" in result else fits(ours, result.strip())


def fits(kind, parameter):
    """Returns whether a ctypes type fits a parameter; handles and addresses are void pointers."""
    name = parameter.replace("const ", "").split()[0]
    if "*" in parameter or "[" in parameter:
        return kind is ctypes.c_void_p or hasattr(kind, "contents")
    if HANDLES.search(name):
        return kind is ctypes.c_void_p
    return kind is C_TYPES.get(name, ctypes.c_int)  # all others are enums
