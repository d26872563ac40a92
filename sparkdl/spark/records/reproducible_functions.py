"""Decides whether a Python function is certain to give the same results for the same input.

Only what its code, the functions that it calls and the values that it uses show counts: builtins
that compute, the modules in MODULES except for names in OUTSIDE, and plain values. Files, clocks,
random numbers, other libraries and users' classes leave it open.
"""

import builtins
import dis
import sys
import threading
from collections import deque
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np
from pyspark import Broadcast
from pyspark.serializers import CPickleSerializer

from sparkdl.data.readers.core.base import StoredSource

_lock = threading.Lock()
PLAIN = (bool, bytearray, bytes, complex, float, int, str, type(None), type(...), slice, range)
MODULES = {  # their functions compute, except those in OUTSIDE and BUILTINS
    *("builtins", "cmath", "collections", "datetime", "decimal", "fractions", "functools"),
    *("itertools", "json", "math", "numpy", "operator", "pandas", "re", "string", "struct"),
}
TRUSTED = {"pyspark", "sparkdl"}  # their functions and objects reach outside only by what they hold
OUTSIDE = {  # names of attributes, functions and parts of modules' names
    *("DataSource", "ExcelFile", "HDFStore", "__builtins__", "__globals__", "ctypeslib"),
    *("fromfile", "genfromtxt", "io", "lib", "load", "loadtxt", "memmap", "now", "random"),
    *("sample", "shuffle", "today", "utcnow"),
}
BUILTINS = {  # those that reach outside, or anything by its name
    *("__import__", "breakpoint", "compile", "eval", "exec", "getattr", "globals", "id"),
    *("input", "locals", "open", "vars"),
}
TIMES = {"now", "today"}  # texts that numpy and pandas read as the present
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")  # of globals
READS = "read", "from_csv", "SparkFiles"  # beginnings of such names


def is_reproducible(value, seen=None):
    """Returns whether functions in a value are certain to give the same results each time."""
    if type(value) in PLAIN:
        return True
    seen = {} if seen is None else seen
    if id(value) in seen:
        return True  # judged where it was met first
    seen[id(value)] = value  # keeps it, as another might get its id
    if isinstance(value, list | tuple | set | frozenset | deque):
        return _is_known(type(value)) and all(is_reproducible(each, seen) for each in value)
    if isinstance(value, dict):
        parts = [getattr(value, "default_factory", None), *value.keys(), *value.values()]
        return _is_known(type(value)) and is_reproducible(parts, seen)
    if isinstance(value, np.vectorize | np.ufunc | np.ndarray):
        return _is_numpy_reproducible(value, seen)
    if isinstance(value, partial):
        return is_reproducible((value.func, value.args, value.keywords), seen)
    if isinstance(value, FunctionType):
        return _is_function_reproducible(value, seen)
    if isinstance(value, BuiltinFunctionType | MethodType):
        return _is_method_reproducible(value, seen)
    if isinstance(value, StoredSource) or not _is_known(value):
        return False
    is_object = _root(type(value).__module__) in TRUSTED and not isinstance(value, Broadcast)
    return not is_object or is_reproducible(getattr(value, "__dict__", {}), seen)


def is_command_reproducible(command):
    """Returns the same of a function as Spark has it, pickled; False if it cannot be looked at."""
    try:
        with knowing_broadcasts():
            found = CPickleSerializer().loads(command)
    except Exception:  # whatever the user's module raises
        return False
    return not isinstance(found, Broadcast) and is_reproducible(found)


class AnyBroadcast(dict):
    """Has a broadcast without a value for each id, whose value never changes."""

    def __contains__(self, number):
        return True

    def __missing__(self, number):
        return object.__new__(Broadcast)


@contextmanager
def knowing_broadcasts():
    """Lets functions that use broadcasts be loaded on the driver, where Spark registers none."""
    module = sys.modules[Broadcast.__module__]
    with _lock:
        before, module._broadcastRegistry = module._broadcastRegistry, AnyBroadcast()
        try:
            yield
        finally:
            module._broadcastRegistry = before


def _is_function_reproducible(function, seen):
    if _root(function.__module__) in MODULES:
        return _is_known(function)
    used = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        try:
            used.append(cell.cell_contents)
        except ValueError:  # it is not set yet
            return False
    if _root(function.__module__) not in TRUSTED:
        names = names_of(function.__code__)
        if names is None or any(_is_outside(name) for name, _ in names):
            return False
        known = vars(builtins) | function.__globals__
        used += [known[name] for name, is_global in sorted(names) if is_global and name in known]
    return is_reproducible(used, seen)


def _is_numpy_reproducible(value, seen):
    """Returns the same of an array or a function of numpy, which may hold functions of the user."""
    if isinstance(value, np.vectorize):
        return is_reproducible(value.pyfunc, seen)
    if isinstance(value, np.ufunc):
        return vars(np).get(value.__name__) is value
    return _is_known(type(value)) and (
        not value.dtype.hasobject or is_reproducible(value.tolist(), seen)
    )


def names_of(code):
    """Returns {(name, whether it is of a global)}, with names of attributes and imports.

    None if the code sets globals, imports other modules than MODULES, or has a text of TIMES.
    """
    names = {(name, False) for name in code.co_names}
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return None
        if step.opname in LOADS:
            names.add((step.argval, True))
        if step.opname == "IMPORT_NAME":
            if _root(step.argval) not in MODULES | TRUSTED:
                return None
            names |= {(part, False) for part in step.argval.split(".")}
    for inner in code.co_consts:
        if isinstance(inner, str) and inner.lower() in TIMES:
            return None
        if isinstance(inner, CodeType):
            found = names_of(inner)
            if found is None:
                return None
            names |= found
    return names


def _is_method_reproducible(value, seen):
    holder = value.__self__
    if isinstance(value, MethodType):
        return is_reproducible((holder, value.__func__), seen)
    if holder is None or isinstance(holder, ModuleType):
        return _is_known(value)
    return is_reproducible(holder, seen) and not _is_outside(value.__name__)


def _is_known(value):
    """Returns whether a module, a class, a function in C or an object is of a known module."""
    if isinstance(value, ModuleType):
        path = value.__name__
    else:
        named = isinstance(getattr(value, "__module__", None), str) and callable(value)
        path = value.__module__ if named else type(value).__module__
    name = getattr(value, "__name__", "")
    if _root(path) in TRUSTED:
        return name != "SparkFiles"
    if path == "builtins":
        return name not in BUILTINS
    return _root(path) in MODULES and not any(map(_is_outside, [*path.split("."), name]))


def _root(path):
    return str(path).partition(".")[0].removeprefix("_")  # operator.add is of _operator


def _is_outside(name):
    return name in OUTSIDE or name.startswith(READS)
