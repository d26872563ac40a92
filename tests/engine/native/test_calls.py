"""A compiled function rejects memory that it would overrun or read as another dtype."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.chains import ChainOp
from sparkdl.engine.native import (
    chains,
    cross_entropy,
    draws,
    jit,
    row_sums,
    short_softmax,
    sums,
)
from sparkdl.engine.operands import Operand
from sparkdl.engine.ops.elementwise import add, mul
from sparkdl.engine.ops.random import UniformOp
from sparkdl.engine.ops.reduce import SumOp
from sparkdl.engine.ops.softmax import SoftmaxCrossEntropyGradOp, SoftmaxCrossEntropyOp, SoftmaxOp
from sparkdl.errors import OperandError, UnsupportedError

try:
    COMPILER = jit.compiler()
except UnsupportedError as error:
    pytest.skip(str(error), allow_module_level=True)

CHAIN = ChainOp(((add, (0, 1)), (mul, (2, 0))), (1,))


def zeros(*shape, kind="float32"):
    return np.zeros(shape, kind)


def chain(y):
    return chains.chain_kernel(CHAIN, [zeros(6, 5), zeros(5)], [y], COMPILER)


def summed(kept):
    axes = (0,) if kept else (1,)
    return sums.sum_kernel(SumOp(axes, False), zeros(6, 5), zeros(5 if kept else 6), COMPILER)


def entropy():
    arrays = zeros(6, 5), zeros(6, kind="int64"), zeros(6)
    return cross_entropy.cross_entropy_kernel(SoftmaxCrossEntropyOp(), *arrays, COMPILER)


def entropy_gradient():
    arrays = zeros(6), zeros(6, 5), zeros(6, kind="int64"), zeros(6, 5)
    op = SoftmaxCrossEntropyGradOp()
    return cross_entropy.cross_entropy_grad_kernel(op, *arrays, COMPILER)


def softmax():
    return short_softmax.short_softmax_kernel(SoftmaxOp(), zeros(6, 5), zeros(6, 5), COMPILER)


def drawn():
    op = UniformOp(to=(3, 4), seed=1, stream=2)
    ids, epoch = zeros(6, kind="uint64"), zeros(kind="uint64")
    return draws.uniform_kernel(op, ids, epoch, zeros(6, 3, 4), COMPILER)


def rows():
    return row_sums.row_sums_kernel(CHAIN.steps, (2,), (zeros(6, 16), zeros(16)), COMPILER)


KERNELS = {
    "chain": (chains, lambda: chain(zeros(6, 5))),
    "chain over columns": (chains, lambda: chain(zeros(5, 6).T)),
    "sum of columns": (sums, lambda: summed(True)),
    "sum of rows": (sums, lambda: summed(False)),
    "cross entropy": (cross_entropy, entropy),
    "gradient of a cross entropy": (cross_entropy, entropy_gradient),
    "softmax": (short_softmax, softmax),
    "draws": (draws, drawn),
    "sums of rows of a chain": (row_sums, rows),
}


@pytest.fixture(params=KERNELS)
def call(request, monkeypatch):
    """Returns (the binding function, the arguments that a kernel passes it)."""
    module, make = KERNELS[request.param]
    made, bound = [], module.bind
    monkeypatch.setattr(module, "bind", lambda *given: made.append(given) or bound(*given))
    make()
    return bound, made[0]


def refused(call, place, operand, pattern):
    bound, (function, words, work) = call
    with pytest.raises(OperandError, match=rf"^{words[place].name} needs .*, got {pattern}"):
        bound(function, [*words[:place], operand, *words[place + 1 :]], work)


def operands(call):
    return [(i, word) for i, word in enumerate(call[1][1]) if isinstance(word, Operand)]


def test_every_kernel_says_how_it_walks_over_its_operands(call):
    assert len(operands(call)) >= 2
    call[0](*call[1])


def test_an_operand_that_is_too_small(call):
    for place, operand in operands(call):
        array = operand.array[..., :-1] if operand.array.ndim else operand.array.reshape(1)[:0]
        refused(call, place, replace(operand, array=array), rf".*\({covered(array)} bytes\)")


def covered(array):
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    return high - low


def test_an_operand_of_another_type(call):
    for place, operand in operands(call):
        kind = "int32" if operand.array.itemsize == 4 else "float64"
        array = np.zeros_like(operand.array, kind)
        refused(call, place, replace(operand, array=array), f".*{kind}")


def test_numbers_that_do_not_lie_at_multiples_of_their_size(call):
    for place, operand in operands(call):
        room = np.zeros(operand.array.nbytes + 1, np.uint8)[1:]
        array = room.view(operand.array.dtype).reshape(operand.array.shape)
        if operand.array.flags.c_contiguous and operand.array.ndim:
            refused(call, place, replace(operand, array=array), "")


def test_a_mean_of_fewer_channels_than_the_rows():
    with pytest.raises(OperandError, match=r"input 1 needs .* \(64 bytes\), got 8 float32 \(32 b"):
        row_sums.row_sums_kernel(CHAIN.steps, (2,), (zeros(6, 16), zeros(8)), COMPILER)


def test_labels_of_fewer_rows_than_the_logits():
    arrays = zeros(6, 5), zeros(5, kind="int32"), zeros(6)
    with pytest.raises(OperandError, match=r"labels needs 6 int32 \(24 bytes\), got 5 int32"):
        cross_entropy.cross_entropy_kernel(SoftmaxCrossEntropyOp(), *arrays, COMPILER)
