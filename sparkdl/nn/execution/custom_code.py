"""Detection of changes in users' code that a network depends on.

In a notebook, users redefine a function that a layer calls, change a variable or replace a method,
while programs were compiled from the earlier code.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property, partial, partialmethod
from types import CodeType, FunctionType, MethodType
from typing import Any

PLAIN = (bool, bytes, complex, float, int, str, type(None))
WRAPPERS = dict.fromkeys((classmethod, staticmethod, MethodType), "__func__")
WRAPPERS |= dict.fromkeys((cached_property, partial, partialmethod), "func") | {property: "fget"}


class CustomCode:
    """The code behind the users' own classes in a configuration.

    It comprises their methods, and the functions, classes and values named by these, as far as they
    belong to the modules of the classes. Objects of other modules, and values modified in place,
    are compared by identity only.
    """

    def __init__(self, conf: Any) -> None:
        self._classes = [*dict.fromkeys(kind for kind in classes_in(conf) if is_custom(kind))]
        self._modules = {kind.__module__ for kind in self._classes}
        self._parts = self._read()

    def has_changed(self) -> bool:
        """Returns whether the code has changed since the last call."""
        if not self._classes:
            return False
        before, self._parts = self._parts, self._read()
        pairs = zip(before, self._parts, strict=False)
        return len(before) != len(self._parts) or not all(is_same(*pair) for pair in pairs)

    def _read(self):
        """Returns code objects and values in a fixed order; keeping them prevents reuse of ids."""
        parts, waiting, seen = [], [*self._classes], set()
        while waiting:
            one = waiting.pop()
            while type(one) in WRAPPERS:
                parts.append(one)
                one = getattr(one, WRAPPERS[type(one)])
            parts.append(one)
            if id(one) not in seen and getattr(one, "__module__", None) in self._modules:
                waiting += self._named_by(one)
            seen.add(id(one))
        return parts

    def _named_by(self, one):
        """Returns the parts of a user's class, function or object, and what these name."""
        if isinstance(one, FunctionType):
            return [one.__code__, *values_of(one)]
        if not isinstance(one, type):
            return [type(one)]
        bases = [base for base in one.__mro__ if base.__module__ in self._modules]
        return [
            value for base in bases for name, value in vars(base).items() if not is_of_python(name)
        ]


def is_of_python(name):
    """Returns whether a class attribute is Python's own, other than __call__ and __init__."""
    return name.startswith(("__", "_abc_")) and name not in ("__call__", "__init__")


def values_of(function: FunctionType) -> Iterator[Any]:
    """Yields the values that a function uses: defaults, closure variables and globals."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # still empty
            continue
    for name in names_in(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]


def names_in(code: CodeType) -> Iterator[str]:
    """Yields the names used by code and by nested functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def classes_in(value: Any) -> Iterator[type]:
    """Yields the classes of a configuration and of everything in its options."""
    yield type(value)
    if isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    elif is_dataclass(value):
        inside = (getattr(value, item.name, None) for item in fields(value))
    else:
        return
    for each in inside:
        yield from classes_in(each)


def is_custom(kind):
    return is_dataclass(kind) and not kind.__module__.startswith("sparkdl.")


def is_same(one, other):
    plain = type(one) is type(other) and isinstance(one, PLAIN)
    return one is other or (plain and one == other)
