"""One row for each way of using an operation: how it is called, on what, and what it must give.

Every module here that has a table CASES is a family of operations.
"""

from importlib import import_module
from pkgutil import iter_modules

FAMILIES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
CASES = {name: case for family in FAMILIES for name, case in getattr(family, "CASES", {}).items()}
