"""Rows for operations along the time axis."""

import numpy as np

from sparkdl.engine import ops
from tests.engine.cases.case import Case
from tests.engine.support import uniform

STEPS = uniform(40, 3, 5, 2)
MASK = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]], float)
PLACES = np.array([[2, 1, 0, 3, 4], [0, 4, 3, 2, 1], [4, 3, 2, 1, 0]])


def beside(x, value):
    return np.asarray(value, x.dtype)


CASES = {
    "ReverseTime": Case(ops.reverse_time, (STEPS,), lambda x: x[:, ::-1]),
    "ReverseTime masked": Case(
        lambda x: ops.reverse_time(x, beside(x, MASK)),
        (STEPS,),
        lambda x: np.take_along_axis(x, PLACES[:, :, None], 1),
    ),
}
