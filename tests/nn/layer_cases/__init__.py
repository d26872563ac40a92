"""Examples of every layer, and the same layer in an independent library.

Each module with two tables covers a family of layers: LAYERS holds (layer, shape of one example's
input, or a tuple of shapes for layers with several inputs), THEIRS {type: function (layer, params,
x, buffers, training)}, mostly in jax.
"""

from importlib import import_module
from pkgutil import iter_modules

MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
FAMILIES = [module for module in MODULES if hasattr(module, "LAYERS")]
LAYERS = [row for family in FAMILIES for row in family.LAYERS]
THEIRS = {name: theirs for family in FAMILIES for name, theirs in family.THEIRS.items()}
