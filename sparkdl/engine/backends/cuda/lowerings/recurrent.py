"""Recurrent layers as nodes that cuDNN runs in one call, with the gradient in two."""

from dataclasses import dataclass
from functools import partial

from sparkdl.engine.backends.cuda.libraries.cudnn_rnn import GATES, Cell
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn_api import INFERENCE, TRAINING
from sparkdl.engine.graph import Spec
from sparkdl.engine.operands import check
from sparkdl.engine.ops.base import Op
from sparkdl.errors import UnsupportedError


@dataclass(frozen=True)
class WalkOp(Op):
    """(y, last states ..., reserve) of (x, weights, first states ...); without reserve if 0.

    Parameters
    ----------
    cell : Cell
    reserve : bytes saved for the gradient

    Shapes
    ------
    x (N, T, F), weights (all,), states (N, H) or, for several layers, (layers, N, H); y (N, T, H)
    """

    cell: Cell
    reserve: int

    @property
    def label(self):
        return self.cell.mode

    def shape(self, x, weights, *states):
        y = Spec((self.cell.n, self.cell.steps, self.cell.units), self.cell.kind)
        return (y, *states, *[Spec((self.reserve,), "uint8")] * bool(self.reserve))

    def flops(self, *specs):
        cell = self.cell
        wide, rows = len(GATES[cell.mode]) * cell.units, cell.features + cell.units
        return 2 * cell.n * cell.steps * (rows + 2 * cell.units * (cell.layers - 1)) * wide


@dataclass(frozen=True)
class WalkGradOp(Op):
    """(gx, gweights, gstates ...) of (gy, glast ..., x, weights, states ..., y, reserve).

    Destroys the content of `reserve`.
    """

    cell: Cell

    @property
    def label(self):
        return f"{self.cell.mode}Grad"

    def shape(self, gy, *specs):
        count = (len(specs) - 4) // 2
        return specs[count], specs[count + 1], *specs[:count]

    def flops(self, *specs):
        return 2 * WalkOp(self.cell, 0).flops()


def forward(session, op, inputs, outputs):
    layer = session.libraries.recurrent.layer(op.cell)
    x, weights, *states = together(inputs)
    y, *last = together(outputs)
    reserve = last.pop() if op.reserve else None
    arrays = x, weights, states, y, last, reserve
    check_walk(layer, x=x, weights=weights, states=states, y=y, last=last, reserve=reserve)
    work = session.scratch(layer.work[TRAINING if op.reserve else INFERENCE])
    return [session.enqueue(partial(layer.forward, bool(op.reserve), arrays, work))], "cuDNN's RNN"


def backward(session, op, inputs, outputs):
    layer = session.libraries.recurrent.layer(op.cell)
    gx, gweights, *gstates = together(outputs)
    count = len(gstates)
    gy, *rest = together(inputs)
    glast, (x, weights), rest = rest[:count], rest[count : count + 2], rest[count + 2 :]
    states, (y, reserve) = rest[:count], rest[count:]
    arrays = gy, glast, x, weights, states, y, reserve, gx, gweights, gstates
    check_walk(layer, x=x, weights=weights, states=states, y=y, last=glast, reserve=reserve)
    check_walk(layer, x=gx, weights=gweights, states=gstates, y=gy, gradient="gradient of ")
    work = session.scratch(layer.work[TRAINING])
    calls = [session.fill(gweights), session.enqueue(partial(layer.backward, arrays, work))]
    return calls, "cuDNN's RNN"


def check_walk(layer, gradient="", reserve=None, **given):
    """Raises OperandError unless each array is as cuDNN assumes; lists are of h and c."""
    cell = layer.cell
    state = (cell.n, cell.units) if cell.layers == 1 else (cell.layers, cell.n, cell.units)
    states = dict.fromkeys(("states", "last"), state)
    shapes = {"x": (cell.n, cell.steps, cell.features), "y": (cell.n, cell.steps, cell.units)}
    shapes |= {"weights": (layer.weights,), **states}
    for name, arrays in given.items():
        for array in arrays if isinstance(arrays, list) else [arrays]:
            check(f"cuDNN's RNN: {gradient}{name}", array, shapes[name], cell.kind)
    if reserve is not None:
        check("cuDNN's RNN: reserve", reserve, (layer.reserve,), "uint8")


def together(arrays):
    """Returns the arrays; refuses those with gaps, as cuDNN does not support them."""
    if not all(a.flags.c_contiguous for a in arrays):
        raise UnsupportedError("cuDNN's RNN takes arrays without gaps")
    return arrays
