"""In-place updates of rows by an optimizer, in one compiled pass."""

from functools import lru_cache

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.chains import ChainOp, into_chains
from sparkdl.engine.graph import Graph, Spec, Tensor
from sparkdl.engine.native import table_rows
from sparkdl.engine.native.chains import may_chain
from sparkdl.engine.native.table_rows import OWN, PLACED, SHARED
from sparkdl.errors import UnsupportedError

ROWS, GRADIENTS, RATE, NUMBER = "rows", "gradients", "rate", "t"
MANY = (1 << 13,)  # more numbers than in small arrays, which chaining would merge


class RowMoves:
    """The formulas of an optimizer: operations on scalars, then a chain over rows.

    Parameters
    ----------
    optimizer : Optimizer
        One that is `elementwise`.
    """

    def __init__(self, optimizer):
        graph = into_chains(trace(optimizer), may_chain)
        chains = [node for node in graph.nodes if node.outputs[0].shape]
        alone = len(chains) == 1 and isinstance(chains[0].op, ChainOp)
        results = [*graph.outputs.values()]  # a slot may equal the gradient or another slot
        whole = alone and len({*results}) == len(results) == len({*results} & {*chains[0].outputs})
        self._chain = chains[0] if whole else None
        self._numbers = [node for node in graph.nodes if node not in chains]
        self._names = {tensor: name for name, tensor in graph.inputs.items()}
        self._results = {tensor: name for name, tensor in graph.outputs.items()}

    def run(self, arrays, places, gradients, rate, t):
        """Updates rows in place.

        Parameters
        ----------
        arrays : {"rows" or a slot's name: (m, d) float32}
            Changed at `places`.
        places : (n,) int64
            Distinct.
        gradients : (n, d) float32
        rate, t : float32

        Raises
        ------
        UnsupportedError
            If the formulas are not a single chain or it cannot be compiled; no row has changed
            then.
        """
        if self._chain is None:
            raise UnsupportedError("the optimizer is no chain of elementwise operations")
        known = {name: (array, PLACED) for name, array in arrays.items()}
        known |= {GRADIENTS: (gradients, OWN), RATE: number(rate), NUMBER: number(t)}
        values = {tensor: known[name] for tensor, name in self._names.items()}
        for node in self._numbers:
            read = [values[x][0] if x.value is None else x.value for x in node.inputs]
            values[node.outputs[0]] = number(node.op(*read))
        node = self._chain
        operands = [values[x] if x.value is None else number(x.value) for x in node.inputs]
        outputs = [arrays[self._results[tensor]] for tensor in node.outputs]
        table_rows.move_rows(node.op, operands, outputs, places)


def number(value):
    """Returns the operand for a number shared by all rows."""
    return np.asarray(value), SHARED


@lru_cache(maxsize=32)
def moves_of(optimizer):
    """Returns the RowMoves of an optimizer, cached."""
    return RowMoves(optimizer)


def trace(optimizer):
    """Returns the Graph of an update, with the rows as one vector."""
    names = ROWS, GRADIENTS, *optimizer.slot_names
    inputs = {name: Tensor(Spec(MANY), name=name) for name in names}
    inputs |= {name: Tensor(Spec(()), name=name) for name in (RATE, NUMBER)}
    rows, gradients, *slots = (inputs[name] for name in names)
    slots = dict(zip(optimizer.slot_names, slots, strict=True))
    rate, t = inputs[RATE], inputs[NUMBER]
    step, new = optimizer.move(rows, gradients, slots, rate, t, None, decay_of(optimizer))
    return Graph(inputs, {ROWS: ops.add(rows, step), **new})


def decay_of(optimizer):
    """Returns the decoupled weight decay of all rows, or None."""
    return np.float32(optimizer.weight_decay) if optimizer.weight_decay else None
