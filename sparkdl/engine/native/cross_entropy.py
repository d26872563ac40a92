"""Softmax cross entropy of labels; reads each row twice while it is in the cache.

The words are rows, classes, the addresses of logits, labels and losses, and the stride of logits
between rows in bytes. A label outside the classes gives NaN.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native import formulas
from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import (
    FIRST,
    accumulate,
    counting,
    module,
    pointer,
    share,
    word,
)
from sparkdl.engine.native.llvm_code import LANES, TYPES, UNSIGNED, Code, IrVector, literal
from sparkdl.engine.native.memory import below, load
from sparkdl.engine.native.sums import zeros
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError

ROWS, CLASSES, LOGITS, LABELS, LOSSES, APART = range(FIRST, FIRST + 6)
LOWEST = literal("float32", float("-inf"))


def cross_entropy_kernel(op, logits, labels, losses, compiler):
    """Returns a call that fills `losses` as SoftmaxCrossEntropyOp does.

    Raises
    ------
    UnsupportedError
        For types and layouts that are left to numpy.
    """
    if logits.dtype != np.float32 or losses.dtype != np.float32:
        raise UnsupportedError(f"{logits.dtype} is left to numpy")
    behind = [(logits, -1), (labels, 0), (losses, 0)]
    if any(a.shape[axis] > 1 and a.strides[axis] != a.itemsize for a, axis in behind):
        raise UnsupportedError("the rows lie in no order that is compiled")
    kind, (rows, classes), apart = labels.dtype.name, logits.shape, logits.strides[0]
    operands = (
        Operand("logits", logits, "float32", ((rows, apart), (classes, 4))),
        Operand("labels", labels, kind, ((rows, labels.itemsize),)),
        Operand("losses", losses, "float32", ((rows, 4),)),
    )
    words = [rows, classes, *operands, apart]
    return bind(compiler.function(text(kind)), words, 4 * logits.nbytes)


@cache
def text(kind):
    """Returns the function's text for labels of a type."""
    code = Code()
    begin, end = share(code, word(code, ROWS), 1)
    classes, apart = word(code, CLASSES), word(code, APART)
    logits, labels, losses = (pointer(code, w) for w in (LOGITS, LABELS, LOSSES))
    with counting(code, begin, end, 1) as row:
        base = code.pointer(logits, "i8", code.define(f"mul i64 {row}, {apart}"))
        label = wide(code, kind, code.pointer(labels, TYPES[kind], row))
        loss = loss_of(code, base, classes, label)
        code.add(f"store float {loss}, ptr {code.pointer(losses, 'float', row)}, align 4")
    return module(code)


def wide(code, kind, at):
    """Returns a label as i64."""
    number = code.define(f"load {TYPES[kind]}, ptr {at}")
    if TYPES[kind] == "i64":
        return number
    return code.define(f"{'zext' if kind in UNSIGNED else 'sext'} {TYPES[kind]} {number} to i64")


def loss_of(code, base, classes, label):
    """Returns log(sum of exp(logits)) minus the label's logit, all relative to the maximum."""

    def some(i):
        left = below(code, code.define(f"sub i64 {classes}, {i}"))
        return load(code, "float32", base, i, left, LOWEST)

    def larger(i, largest):
        result = some(i)
        return [(result > largest).select(result, largest)]

    lowest = IrVector(code, "float32", LOWEST)
    [largest] = accumulate(code, "0", classes, LANES, [lowest], larger)
    top = code.splat("float32", largest.across("fmax"))

    def added(i, total):
        return [total + formulas.exp(some(i) - top).cast("float64")]

    [total] = accumulate(code, "0", classes, LANES, zeros(code, 1), added)
    total = code.splat("float64", total.across("fadd reassoc")).cast("float32")
    known = code.define(f"icmp ult i64 {label}, {classes}")
    inside = code.define(f"select i1 {known}, i64 {label}, i64 0")
    label_score = code.splat(
        "float32", code.define(f"load float, ptr {code.pointer(base, 'float', inside)}")
    )
    loss = formulas.log_of(total) - (label_score - top)
    result = code.define(f"extractelement {loss.typed}, i32 0")
    return code.define(f"select i1 {known}, float {result}, float 0x7FF8000000000000")
