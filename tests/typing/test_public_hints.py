"""Everything public has type hints: each parameter and result of each function and method."""

import inspect
from functools import cached_property
from importlib import import_module as load

import pytest

import sparkdl

MODULES = ["sparkdl", *(f"sparkdl.{name}" for name in sparkdl.MODULES), "sparkdl.ml"]
MODULES += ["sparkdl.tune"]
MODULES += ["sparkdl.spark.session"]
CALLED = ("__init__", "__call__", "__len__")


def functions_of(module):
    """Yields the public functions of a module, and those of its public classes and their bases."""
    for name in getattr(module, "__all__", ["session", "start", "stop"]):
        value = getattr(module, name)
        if inspect.isclass(value):
            bases = [base for base in value.__mro__ if is_ours(base)]
            yield from (one for base in bases for one in methods_of(base))
        elif inspect.isfunction(value):
            yield value


def methods_of(cls):
    """Yields what a user calls or reads of a class, as functions."""
    for name, value in vars(cls).items():
        function, public = inner_function(value), name in CALLED or not name.startswith("_")
        if public and inspect.isfunction(function) and not is_generated(function):
            yield function


def inner_function(value):
    """Returns the function in a property, a class method or the like."""
    for name in ("fget", "func", "__func__"):
        value = getattr(value, name, value) if is_wrapper(value) else value
    return inspect.unwrap(value) if callable(value) else value


def is_generated(function):
    """Returns whether dataclass wrote the function."""
    return function.__code__.co_filename == "<string>"


def is_wrapper(value):
    return isinstance(value, property | cached_property | classmethod | staticmethod)


def is_ours(cls):
    return cls.__module__.startswith("sparkdl")


def missing_hints(function):
    """Returns the names of parameters without a hint, and "return"."""
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in [*names, "return"] if name not in function.__annotations__]


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_has_hints(name):
    functions = {f"{one.__module__}.{one.__qualname__}": one for one in functions_of(load(name))}
    missing = {where: missing_hints(one) for where, one in functions.items()}
    assert {where: names for where, names in missing.items() if names} == {}
