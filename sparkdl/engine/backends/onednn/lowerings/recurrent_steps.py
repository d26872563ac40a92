"""Recurrent operations without a oneDNN primitive: numpy cells around oneDNN products.

These are the ones with indicators or hard gates. numpy's own products would start a second thread
pool.
"""

from functools import partial

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import DST, SRC, WEIGHTS
from sparkdl.engine.dtypes import widen
from sparkdl.engine.ops.recurrent.arithmetic import RecurrentArrays
from sparkdl.errors import UnsupportedError


class Products:
    """Matrix products in any layout, with one primitive per combination of layouts."""

    def __init__(self, session):
        self.session, self.cache = session, {}

    def __call__(self, x, w):
        y = np.empty((x.shape[0], w.shape[1]), x.dtype)
        key = x.shape, x.strides, x.dtype, w.shape, w.strides, w.dtype
        if key not in self.cache:
            self.cache[key] = self.primitive(x, w, y)
        call, memories = self.cache[key]
        for memory, array in zip(memories, (x, w, y), strict=True):
            self.session.move(memory, array)
        call()
        return y

    def primitive(self, x, w, y):
        """Returns (call, [memories of x, w and y])."""
        session, arrays = self.session, {SRC: x, WEIGHTS: w, DST: y}
        pd = session.describe("matmul", session.of(x), session.of(w), None, session.of(y), None)
        if session.implementation(pd).startswith("ref"):
            raise UnsupportedError(f"oneDNN has no fast product of {x.shape} and {w.shape}")
        memories = {index: session.at(array) for index, array in arrays.items()}
        return session.bind(pd, memories), list(memories.values())


def forward(session, op, inputs, outputs):
    run = partial(op.run, RecurrentArrays(Products(session)))
    return [partial(fill_outputs, run, inputs, outputs)], "steps with oneDNN's products"


def backward(session, op, inputs, outputs):
    run = partial(op.run, Products(session))
    return [partial(fill_outputs, run, inputs, outputs)], "steps with oneDNN's products"


def fill_outputs(run, inputs, outputs):
    for out, result in zip(outputs, run(*map(widen, inputs)), strict=True):
        np.copyto(out, result, casting="unsafe")
