"""Rows for table lookups by index."""

import jax.numpy as jnp
import numpy as np

from sparkdl.engine import ops
from tests.engine.cases.case import Case
from tests.engine.cases.core import beside
from tests.engine.support import uniform

INDICES = np.array([[3, 0, 3], [5, 3, 0]], np.int32)

CASES = {
    "Gather": Case(
        lambda table: ops.gather(table, beside(table, INDICES)),
        (uniform(50, 6, 4),),
        lambda table: jnp.asarray(table)[INDICES],
    ),
    "Gather one each": Case(
        lambda table: ops.gather(table, beside(table, INDICES[:, 1])),
        (uniform(51, 6, 2, 3),),
        lambda table: jnp.asarray(table)[INDICES[:, 1]],
    ),
    "ScatterAdd": Case(
        lambda y: ops.scatter_add(y, beside(y, INDICES), 7),
        (uniform(52, 2, 3, 4),),
        lambda y: jnp.zeros((7, 4)).at[INDICES].add(y),
    ),
    "ScatterAdd of numbers": Case(
        lambda y: ops.scatter_add(y, beside(y, INDICES), 6),
        (uniform(53, 2, 3),),
        lambda y: jnp.zeros(6).at[INDICES].add(y),
    ),
}
