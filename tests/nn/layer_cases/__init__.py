"""Examples of every layer, and the same layer in an independent library.

A family of layers is a module with two tables: LAYERS holds (layer, shape of one example's input),
THEIRS holds {type: function (layer, params, x, buffers, training)}, mostly in jax. Both are
entered here.
"""

from tests.nn.layer_cases import core

FAMILIES = (core,)
LAYERS = [row for family in FAMILIES for row in family.LAYERS]
THEIRS = {name: theirs for family in FAMILIES for name, theirs in family.THEIRS.items()}
