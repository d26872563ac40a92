"""Softmax cross entropy of labels and its gradient; reads rows while they are in the cache.

The words are rows, classes, the addresses of logits and labels, the stride of logits between rows
in bytes, and the address of the losses. For the gradient, this is that of the losses' gradient; the
address of the gradient and its stride follow.
"""

from contextlib import contextmanager
from functools import cache

import numpy as np

from sparkdl.engine.native import formulas
from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import FIRST, counting, module, pointer, share, word
from sparkdl.engine.native.llvm_code import Code
from sparkdl.engine.native.softmax_rows import (
    LongRow,
    ShortRows,
    exp_of,
    largest_of,
    load_labels,
    total_of,
)
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError

# Rows of up to so many classes are computed side by side. With AVX-512 and AVX2, a long row took 17
# to 25 ns at least, and a class of short rows 1 to 2 ns, by gathers.
SHORT_LOSS, SHORT_GRADIENT = 32, 10
ROWS, CLASSES, LOGITS, LABELS, APART, LOSSES, GRADIENT, GRADIENT_APART = range(FIRST, FIRST + 8)


def cross_entropy_kernel(op, logits, labels, losses, compiler):
    """Returns a call that fills `losses` as SoftmaxCrossEntropyOp does.

    Raises
    ------
    UnsupportedError
        For types and layouts that are left to numpy.
    """
    words = words_of(logits, labels, Operand("losses", losses, "float32", ((len(logits), 4),)))
    short = logits.shape[1] <= SHORT_LOSS
    function = compiler.function(loss_text(labels.dtype.name, short))
    return bind(function, words, 4 * logits.nbytes)


def cross_entropy_grad_kernel(op, gy, logits, labels, gradient, compiler):
    """Returns a call that fills `gradient` as SoftmaxCrossEntropyGradOp does.

    Raises
    ------
    UnsupportedError
        As `cross_entropy_kernel`.
    """
    words = words_of(logits, labels, Operand("gy", gy, "float32", ((len(logits), 4),)))
    words += matrix("gradient", gradient)
    function = compiler.function(
        gradient_text(labels.dtype.name, logits.shape[1] <= SHORT_GRADIENT)
    )
    return bind(function, words, 6 * logits.nbytes)


def words_of(logits, labels, values):
    """Returns the words that both functions have; `values` has a number for each row."""
    rows, classes = logits.shape
    refuse_type(values.array)
    for array in (labels, values.array):
        refuse_stride(array, 0)
    address, apart = matrix("logits", logits)
    walk = Operand("labels", labels, labels.dtype.name, ((rows, labels.itemsize),))
    return [rows, classes, address, walk, apart, values]


def matrix(name, array):
    """Returns the words of an array with a row for each label: its operand and its stride."""
    (rows, classes), apart = array.shape, array.strides[0]
    refuse_type(array)
    refuse_stride(array, 1)
    return [Operand(name, array, "float32", ((rows, apart), (classes, 4))), apart]


def refuse_type(array):
    if array.dtype != np.float32:
        raise UnsupportedError(f"{array.dtype} is left to numpy")


def refuse_stride(array, axis):
    if array.shape[axis] > 1 and array.strides[axis] != array.itemsize:
        raise UnsupportedError("the rows lie in no order that is compiled")


@contextmanager
def each_row(code, kind, short):
    """Emits a loop over this thread's rows; yields (rows of a vector, where they start, labels)."""
    make = ShortRows if short else LongRow
    begin, end = share(code, word(code, ROWS), make.rows)
    classes, apart = word(code, CLASSES), word(code, APART)
    logits, labels = pointer(code, LOGITS), pointer(code, LABELS)
    with counting(code, begin, end, make.rows) as row:
        rows = make(code, row, end, classes)
        yield rows, rows.start(logits, apart), load_labels(rows, kind, labels)


@cache
def loss_text(kind, short):
    """Returns the text of the function that computes losses, for labels of a type."""
    code = Code()
    losses = pointer(code, LOSSES)
    with each_row(code, kind, short) as (rows, start, label):
        largest = largest_of(rows, start)
        logit = rows.load_logit(start, label)
        total = total_of(rows, start, largest)
        loss = formulas.log_of(total) - (logit - largest)
        rows.store_value((label < 0).select(loss.of(float("nan")), loss), losses)
    return module(code)


@cache
def gradient_text(kind, short):
    """Returns the text of the function that computes the gradient, for labels of a type."""
    code = Code()
    given, apart = pointer(code, LOSSES), word(code, GRADIENT_APART)
    gradient = pointer(code, GRADIENT)
    with each_row(code, kind, short) as (rows, start, label):
        largest, gy = largest_of(rows, start), rows.load_value("float32", given)
        factor = gy / total_of(rows, start, largest)
        to = rows.start(gradient, apart)
        with counting(code, "0", rows.classes, rows.step) as i:
            value = exp_of(rows, start, largest, i) * factor
            rows.store(rows.is_label(label, i).select(value - gy, value), to, i)
    return module(code)
