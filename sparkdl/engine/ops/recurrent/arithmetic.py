"""The same functions on arrays and on tensors, so that a cell's equations are written once."""

import numpy as np

from sparkdl.engine.ops import activation, shape
from sparkdl.engine.ops.elementwise import maximum, minimum, where
from sparkdl.engine.ops.matmul import matmul


class RecurrentArrays:
    """The functions in numpy; `product` computes a matrix product."""

    tanh, reshape = staticmethod(np.tanh), staticmethod(np.reshape)

    def __init__(self, product=np.matmul):
        self.product = product

    def gate(self, x, slope):
        """Returns the sigmoid, or slope x + 0.5 clipped to [0, 1] if there is a slope."""
        # numpy's tanh is vectorized; its error at tiny values does not matter to a gate
        return np.tanh(x * 0.5) * 0.5 + 0.5 if slope is None else np.clip(x * slope + 0.5, 0, 1)

    def where(self, condition, x, y):
        """Returns x where the condition (N, 1) is not 0, else y; fast if it holds everywhere."""
        return x if condition.all() else np.where(condition, x, y)

    def relu(self, x):
        return np.maximum(x, 0)

    def at(self, x, t):
        """Returns step t of sequences (N, T, ...)."""
        return x[:, t]

    def part(self, x, start, stop):
        """Returns a slice of the last axis."""
        return x[..., start:stop]

    def join(self, steps):
        """Stacks steps into sequences (N, T, ...)."""
        return np.stack(steps, axis=1)

    def stack_saved(self, saved):
        """Returns the arrays (N, H) saved by each step as one array (T, N, arrays H)."""
        n, units = saved[0][0].shape
        together = np.empty((len(saved), n, len(saved[0]), units), saved[0][0].dtype)
        for step, arrays in zip(together, saved, strict=True):
            for i, array in enumerate(arrays):
                step[:, i] = array
        return together.reshape(len(saved), n, len(saved[0]) * units)


class Tensors:
    """The functions as graph nodes; each slice of the weights is cut once for all steps."""

    where, tanh, relu, reshape = (
        where,
        activation.tanh,
        activation.relu,
        staticmethod(shape.reshape),
    )
    product = staticmethod(matmul)

    def __init__(self):
        self.parts = {}

    def gate(self, x, slope):
        if slope is None:
            return activation.sigmoid(x)
        return minimum(maximum(x * slope + 0.5, 0.0), 1.0)

    def at(self, x, t):
        n, _, *rest = x.shape
        starts, stops = (0, t, *(0 for _ in rest)), (n, t + 1, *rest)
        return shape.reshape(shape.slice(x, starts, stops), (n, *rest))

    def part(self, x, start, stop):
        if (x, start, stop) not in self.parts:
            lead = x.shape[:-1]
            self.parts[x, start, stop] = shape.slice(x, (*(0 for _ in lead), start), (*lead, stop))
        return self.parts[x, start, stop]

    def join(self, steps):
        n, *rest = steps[0].shape
        return shape.concat([shape.reshape(step, (n, 1, *rest)) for step in steps], 1)

    def stack_saved(self, saved):
        rows = [shape.concat(list(arrays), 1) for arrays in saved]
        return shape.concat([shape.reshape(row, (1, *row.shape)) for row in rows], 0)
