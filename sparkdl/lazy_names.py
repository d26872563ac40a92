"""Lazy names of a package, loaded on first use.

A process that needs one module of a large package, such as an executor, does not load the others.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Exports = dict[str, str]  # {module: its public names, separated by spaces, or "*"}
Names = tuple[Callable[[str], Any], Callable[[], list[str]]]


def homes(exports: Exports) -> dict[str, str]:
    """Returns {name: its module}."""
    return {name: module for module, names in exports.items() for name in listed(module, names)}


def listed(module, names):
    """Returns the names that a module provides; "*" stands for its `__all__`."""
    return import_module(module).__all__ if names == "*" else names.split()


def lazy_names(package: str, found: dict[str, str]) -> Names:
    """Returns `__getattr__` and `__dir__` for a package.

    Its submodules are found as attributes, too, as if it had imported them. Type checkers and
    editors read its __init__.pyi, which imports the same names.

    Parameters
    ----------
    found : {str: str}
        The module of each name; see `homes`.
    """

    def load(name: str) -> Any:
        if name in found:
            value = getattr(import_module(found[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *found})

    return load, names
