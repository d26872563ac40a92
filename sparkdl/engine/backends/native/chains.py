"""An elementwise chain and its arrays, as a call of a compiled loop."""

from functools import cache

import numpy as np

from sparkdl.engine.backends.native import loops
from sparkdl.engine.backends.native.calls import bound
from sparkdl.engine.backends.native.code import TYPES
from sparkdl.engine.graph import Spec
from sparkdl.errors import UnsupportedError


def chain_kernel(op, inputs, outputs, compiler):
    """A call that runs a Chain; an output may lie on an input of its shape.

    Raises
    ------
    UnsupportedError
        For what is left to numpy: float64, some operations, arrays that lie in different orders.
    """
    arrays = [*(np.broadcast_to(x, outputs[0].shape) for x in inputs), *outputs]
    axes = merged_axes(arrays)
    length, strides = axes.pop() if axes else (1, [a.itemsize for a in arrays])
    if any(s not in (0, a.itemsize) for s, a in zip(strides, arrays, strict=True)):
        raise UnsupportedError("the arrays lie in different orders")
    wide = tuple(s > 0 for s in strides)
    function = compiler.function(text(op, kinds_of(inputs), kinds_of(outputs), wide, len(axes)))
    rows = int(np.prod([size for size, _ in axes], dtype=np.int64))
    words = [length, rows, *(a.ctypes.data for a in arrays)]
    for size, steps in axes:
        words += [size, *steps]
    return bound(function, words, arrays, sum(a.nbytes for a in (*inputs, *outputs)))


def kinds_of(arrays):
    return tuple(a.dtype.name for a in arrays)


@cache
def text(op, inputs, outputs, wide, axes):
    """The loop's text; a network repeats a few chains many times."""
    for kind in {*inputs, *outputs}:
        if kind == "float64" or kind not in TYPES:
            raise UnsupportedError(f"{kind} is left to numpy")
    specs = [Spec((), kind) for kind in inputs]
    for step, operands in op.steps:
        specs.append(step.shape(*(specs[i] for i in operands)))
    kinds = tuple(spec.dtype for spec in specs[len(inputs) :])
    return loops.function(
        loops.Loop(op.steps, op.results, kinds, inputs, outputs, wide[: len(inputs)], axes)
    )


def merged_axes(arrays):
    """[(length, [stride of each array])] from the outermost in the outputs' memory inwards.

    Axes that lie behind one another in all arrays become one: for equal layouts there is one only.
    """
    shape, out = arrays[-1].shape, arrays[-1]
    axes = []
    for axis in sorted(range(len(shape)), key=lambda a: -out.strides[a]):
        size, strides = shape[axis], [a.strides[axis] for a in arrays]
        if size == 1:
            continue
        if axes and axes[-1][1] == [s * size for s in strides]:
            size *= axes.pop()[0]
        axes.append((size, strides))
    return axes
