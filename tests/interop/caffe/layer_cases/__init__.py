"""Every type of Caffe layer, with the outputs that numpy computes by its definition.

Each module is a family of layers with a list CASES. Expected gradients are finite differences.
"""

from importlib import import_module
from pkgutil import iter_modules

MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
CASES = [case for module in MODULES for case in getattr(module, "CASES", ())]
LOSSES = [case for module in MODULES for case in getattr(module, "LOSSES", ())]
