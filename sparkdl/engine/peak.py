"""Measurement of the machine's peak speed with a large matrix product."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.compiler import compile
from sparkdl.engine.graph import Graph, Spec, Tensor

SIDE = 2048  # large enough to reach the peak speed, a tenth of a second on one core


def product(backend="auto", side=SIDE):
    """Returns a program that multiplies two square float32 matrices."""
    inputs = {name: Tensor(Spec((side, side)), name=name) for name in ("x", "y")}
    matrices = {name: np.ones((side, side), np.float32) for name in inputs}
    return compile(Graph(inputs, {"z": ops.matmul(*inputs.values())}), backend, matrices)


def peak(backend="auto", side=SIDE, repeats=5):
    """Returns the best flops per second of several products, with the current number of threads."""
    program = product(backend, side)
    seconds = min(sum(program.profile(repeats=1)) for _ in range(repeats))
    return program.graph.flops / seconds
