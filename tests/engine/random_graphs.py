"""Random functions of three (2, 3) arrays for hypothesis, run on arrays or traced into graphs."""

import numpy as np
from hypothesis import strategies as st

from sparkdl.engine import Tensor, constant, ops

SHAPE = (2, 3)
FIXED = np.linspace(-1, 1, 6).reshape(SHAPE)


def fixed(x):
    return constant(FIXED) if isinstance(x, Tensor) else FIXED


# Each keeps the shape and values near 1, so any sequence makes a valid function.
MOVES = {
    "add": lambda x, y: ops.mul(ops.add(x, y), 0.5),
    "difference": lambda x, y: ops.sub(x, y),
    "product": lambda x, y: ops.mul(ops.tanh(x), y),
    "tanh": lambda x, y: ops.tanh(x),
    "relu": lambda x, y: ops.relu(x),
    "choice": lambda x, y: ops.where(ops.greater(x, y), x, ops.mul(y, 0.25)),
    "fixed": lambda x, y: ops.sub(ops.tanh(x), fixed(y)),
    "constant": lambda x, y: fixed(x),
    "view": lambda x, y: ops.reshape(ops.reshape(x, (6,)), SHAPE),
    "stopped": lambda x, y: ops.stop_gradient(x),
    "flat": lambda x, y: ops.reshape(ops.exp(ops.reshape(ops.tanh(x), (6,))), SHAPE),
    "turned": lambda x, y: ops.reshape(ops.transpose(x, (1, 0)), SHAPE),
    "softmax": lambda x, y: ops.softmax(x),
    "scaled": lambda x, y: ops.mul(x, ops.tanh(ops.sum(y))),
    "per row": lambda x, y: ops.sub(x, ops.mean(y, 1, keepdims=True)),
    "product of matrices": lambda x, y: ops.matmul(ops.matmul(x, y, transpose_y=True), ops.tanh(x)),
    "cut": lambda x, y: ops.concat([ops.slice(x, (0, 1), (2, 3)), ops.slice(y, (0, 0), (2, 1))], 1),
}
ELEMENTWISE = ["add", "difference", "product", "tanh", "relu", "choice", "fixed"]

place = st.integers(0, 30)


def functions(names=tuple(MOVES), longest=12):
    """Strategy for lists of (move, first operand, second operand)."""
    return st.lists(st.tuples(st.sampled_from(sorted(names)), place, place), max_size=longest)


def follow(moves, inputs):
    """Returns all values, inputs first; operand indices count back from the last value."""
    values = list(inputs)
    for name, i, j in moves:
        values.append(MOVES[name](values[-1 - i % len(values)], values[-1 - j % len(values)]))
    return values
