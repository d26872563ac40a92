"""An elementwise chain and its arrays as a call of a compiled loop."""

from functools import cache

import numpy as np

from sparkdl.engine.axes import kinds_of, merge_axes
from sparkdl.engine.chains import chainable
from sparkdl.engine.graph import Spec
from sparkdl.engine.native import loops
from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.llvm_code import TYPES
from sparkdl.engine.native.operations import OPERATIONS
from sparkdl.engine.operands import Operand
from sparkdl.engine.ops.shape import BroadcastToOp
from sparkdl.errors import UnsupportedError


def chain_kernel(op, inputs, outputs, compiler):
    """Returns a call that runs a ChainOp; an output may overwrite an input of its shape.

    Raises
    ------
    UnsupportedError
        For chains left to numpy: float64, some operations, outputs of different layouts.
    """
    arrays = [*(np.broadcast_to(x, outputs[0].shape) for x in inputs), *outputs]
    axes = merge_axes(arrays)
    length, strides = axes.pop() if axes else (1, [a.itemsize for a in arrays])
    layouts = tuple(map(layout_of, strides, arrays))
    if set(layouts[len(inputs) :]) - {loops.DENSE}:
        raise UnsupportedError("the results lie in different orders")
    layouts = layouts[: len(inputs)]
    kinds = kinds_of(inputs), kinds_of(outputs)
    function = compiler.function(text(op, *kinds, layouts, len(axes)))
    rows = int(np.prod([size for size, _ in axes], dtype=np.int64))
    walks = ([(n, steps[i]) for n, steps in (*axes, (length, strides))] for i in range(len(arrays)))
    names = [f"input {i}" for i in range(len(inputs))] + [
        f"output {i}" for i in range(len(outputs))
    ]
    operands = map(Operand, names, arrays, (*kinds[0], *kinds[1]), walks)
    words = [length, rows, *operands, *strides]
    for size, steps in axes:
        words += [size, *steps]
    return bind(function, words, sum(a.nbytes for a in (*inputs, *outputs)))


def may_chain(node):
    """Returns whether a compiled chain may include a node; its operands may broadcast."""
    kinds = {tensor.spec.dtype for tensor in (*node.inputs, *node.outputs)}
    if "float64" in kinds:
        return chainable(node)
    return type(node.op) in OPERATIONS and kinds <= TYPES.keys() and node.outputs[0].shape != ()


def layout_of(stride, array):
    """Returns the layout of an array's numbers along a row."""
    return {0: loops.SHARED, array.itemsize: loops.DENSE}.get(stride, loops.APART)


@cache
def text(op, inputs, outputs, layouts, axes):
    """Returns the text of the loop, cached as networks repeat a few chains many times."""
    for kind in {*inputs, *outputs}:
        if kind == "float64" or kind not in TYPES:
            raise UnsupportedError(f"{kind} is left to numpy")
    kinds = step_kinds(op, inputs)
    return loops.function(loops.Loop(op.steps, op.results, kinds, inputs, outputs, layouts, axes))


def step_kinds(op, inputs):
    """Returns the result types of the steps of a ChainOp, given those of its inputs."""
    specs = [Spec((), kind) for kind in inputs]
    for step, operands in op.steps:
        of = [specs[i] for i in operands]
        specs.append(of[0] if isinstance(step, BroadcastToOp) else step.shape(*of))
    return tuple(spec.dtype for spec in specs[len(inputs) :])
