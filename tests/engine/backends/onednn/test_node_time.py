"""Estimated times of nodes: what they count, from which choices follow."""

import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends.onednn.node_time import (
    BYTES,
    FLOPS,
    FORMULA,
    ROW,
    seconds_alone,
    steps_are_small,
)
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.graph import Spec, Tensor
from sparkdl.engine.ops.activation import TanhOp
from sparkdl.engine.ops.elementwise import AddOp
from sparkdl.engine.ops.softmax import (
    LogSoftmaxOp,
    SoftmaxCrossEntropyGradOp,
    SoftmaxCrossEntropyOp,
    SoftmaxOp,
)
from tests.engine.backends.onednn.nodes import gru, tensors

SQUARE = 1000, 1000


def chain_of_formulas():
    steps = (AddOp(), (0, 1)), (TanhOp(), (2,)), (TanhOp(), (3,))
    return ChainOp(steps, (2,))(*tensors(SQUARE, SQUARE))[0].node


def entropy_gradient():
    gy, logits = tensors((64,), (64, 2))
    return SoftmaxCrossEntropyGradOp()(gy, logits, Tensor(Spec((64,), "int32"))).node


def entropy():
    return SoftmaxCrossEntropyOp()(Tensor(Spec((64, 2))), Tensor(Spec((64,), "int32"))).node


NODES = {
    "a sum of two matrices": (
        lambda: AddOp()(*tensors(SQUARE, SQUARE)).node,
        12e6 / BYTES,
    ),
    "a product": (
        lambda: ops.matmul(*tensors((10, 20), (20, 30))).node,
        4 * (200 + 600 + 300) / BYTES + 2 * 6000 / FLOPS,
    ),
    "a formula": (lambda: TanhOp()(*tensors(SQUARE)).node, 8e6 / BYTES + 1e6 * FORMULA),
    "a chain with two formulas": (chain_of_formulas, 12e6 / BYTES + 2e6 * FORMULA),
    "short rows": (lambda: SoftmaxOp()(*tensors((5, 6, 2))).node, 8 * 60 / BYTES + 120 * FORMULA),
    "long rows": (
        lambda: SoftmaxOp()(*tensors((5, 6, 70))).node,
        8 * 2100 / BYTES + 30 * ROW + 2100 * FORMULA,
    ),
    "short rows one by one": (
        lambda: LogSoftmaxOp()(*tensors((5, 6, 2))).node,
        8 * 60 / BYTES + 30 * ROW + 60 * FORMULA,
    ),
    "short rows with labels": (entropy, 4 * (128 + 64 + 64) / BYTES + 256 * FORMULA),
    "their gradient": (entropy_gradient, 4 * (256 + 64 + 64) / BYTES + 256 * FORMULA),
}


@pytest.mark.parametrize("name", NODES)
def test_what_takes_time_is_counted(name):
    make, seconds = NODES[name]
    assert seconds_alone(make()) == pytest.approx(seconds, rel=1e-6)


@pytest.mark.parametrize(("node", "small"), [(gru(32, 100, 64), True), (gru(64, 10, 512), False)])
def test_steps_of_recurrent_layers_are_looked_at_one_by_one(node, small):
    assert steps_are_small(node) == small


def test_other_nodes_have_no_steps():
    assert not steps_are_small(TanhOp()(*tensors((2, 2))).node)
