"""Rows for random numbers."""

from sparkdl.engine import ops
from tests.engine.cases.case import Case
from tests.engine.cases.core import EPOCH, IDS, A, beside

CASES = {
    "Normal": Case(
        lambda x: ops.greater(x, ops.cast(ops.normal(beside(x, IDS), EPOCH, (4,), 3, 1), x.dtype)),
        (A,),
        order=0,
    ),
}
