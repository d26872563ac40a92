"""Every type of Caffe's layers: a net of one, and what it gives, in numpy by its definition.

A module is a family with a list CASES. What is expected of the way back follows by differences.
"""

from importlib import import_module
from pkgutil import iter_modules

MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
CASES = [case for module in MODULES for case in getattr(module, "CASES", ())]
LOSSES = [case for module in MODULES for case in getattr(module, "LOSSES", ())]
