"""One row for each use of an operation: the call, its arguments, and the expected result.

Each module with a table CASES covers a family of operations.
"""

from importlib import import_module
from pkgutil import iter_modules

FAMILIES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
CASES = {name: case for family in FAMILIES for name, case in getattr(family, "CASES", {}).items()}
