"""Measures the peak speed of the machine: that of a large matrix product."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.compiler import compile
from sparkdl.engine.graph import Graph, Spec, Tensor

SIDE = 2048  # large enough for a processor to reach its speed, a tenth of a second on one core


def product(backend="auto", side=SIDE):
    """Returns the program of one product of two square float32 matrices."""
    inputs = {name: Tensor(Spec((side, side)), name=name) for name in ("x", "y")}
    matrices = {name: np.ones((side, side), np.float32) for name in inputs}
    return compile(Graph(inputs, {"z": ops.matmul(*inputs.values())}), backend, matrices)


def peak(backend="auto", side=SIDE, repeats=5):
    """Returns the flops in a second of the best of some products, with the threads of now."""
    program = product(backend, side)
    seconds = min(sum(program.profile(repeats=1)) for _ in range(repeats))
    return program.graph.flops / seconds
