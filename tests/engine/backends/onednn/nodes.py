"""Tensors and nodes whose kernels' threads the tests choose."""

from sparkdl.engine.graph import Spec, Tensor
from sparkdl.engine.ops.recurrent.gru import GruOp


def tensors(*shapes):
    """Returns float32 tensors of these shapes."""
    return [Tensor(Spec(shape)) for shape in shapes]


def gru(n, steps, units):
    """Returns the node of a GRU over (n, steps, units)."""
    wide = 3 * units
    shapes = (n, steps, units), (units, wide), (units, wide), (wide,), (n, units)
    return GruOp()(*tensors(*shapes))[0].node
