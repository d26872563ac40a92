"""The estimated time of a node on one thread, for choices that need no precision."""

from math import prod

from sparkdl.engine.backends.onednn.rewrites.batch_norm_relu import (
    BatchNormReluGradOp,
    BatchNormReluOp,
)
from sparkdl.engine.backends.onednn.rewrites.recurrent_workspace import (
    FromWorkspaceOp,
    WithWorkspaceOp,
)
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.native import cross_entropy, short_softmax
from sparkdl.engine.ops.activation import EluOp, ErfOp, SigmoidOp, SoftplusOp, TanhOp
from sparkdl.engine.ops.elementwise import ExpOp, LogOp, PowerOp
from sparkdl.engine.ops.gelu import GeluGradOp, GeluOp
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp
from sparkdl.engine.ops.random import UniformOp
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.softmax import (
    LogSoftmaxGradOp,
    LogSoftmaxOp,
    SigmoidCrossEntropyOp,
    SoftmaxCrossEntropyGradOp,
    SoftmaxCrossEntropyOp,
    SoftmaxGradOp,
    SoftmaxOp,
)

FLOPS, BYTES = 1e11, 4e10  # of a core per second: in products; read and written
FORMULA = 5e-10  # seconds per number of what a polynomial computes, such as exp
ROW = 2.5e-8  # seconds of a row of a softmax, unless several are computed side by side
WORTH_STEPS = 6e-5  # seconds of a recurrent step from which several threads pay
WORTH_BARRIERS = 1e-4  # seconds from which they pay in a kernel whose threads wait for each other

FORMULAS = ExpOp, LogOp, PowerOp, EluOp, TanhOp, SigmoidOp, SoftplusOp, ErfOp
FORMULAS += GeluOp, GeluGradOp, SigmoidCrossEntropyOp, UniformOp
ROWS = SoftmaxOp, SoftmaxGradOp, LogSoftmaxOp, LogSoftmaxGradOp
ROWS += SoftmaxCrossEntropyOp, SoftmaxCrossEntropyGradOp
SIDE_BY_SIDE = {  # to the most numbers of such rows
    SoftmaxOp: short_softmax.SHORT,
    SoftmaxCrossEntropyOp: cross_entropy.SHORT_LOSS,
    SoftmaxCrossEntropyGradOp: cross_entropy.SHORT_GRADIENT,
}
STEP_BY_STEP = RecurrentOp, RecurrentGradOp, WithWorkspaceOp, FromWorkspaceOp

# Their threads meet inside the kernel at barriers that never sleep: where another process has one
# of the cores, each barrier waits until the system runs the missing thread, several milliseconds.
WITH_BARRIERS = BatchNormOp, BatchNormGradOp, BatchNormReluOp, BatchNormReluGradOp


def seconds_alone(node):
    """Returns the seconds of one thread for a node."""
    moved = sum(tensor.spec.nbytes for tensor in (*node.inputs, *node.outputs))
    return moved / BYTES + node.flops / FLOPS + seconds_beside(node.op, node)


def seconds_beside(op, node):
    """Returns the seconds of what is neither memory nor products."""
    if isinstance(op, ROWS):
        return seconds_of_rows(op, max((tensor.shape for tensor in node.inputs), key=len))
    steps = [step for step, _ in op.steps] if isinstance(op, ChainOp) else [op]
    formulas = sum(isinstance(step, FORMULAS) for step in steps)
    return FORMULA * formulas * node.outputs[0].spec.size


def seconds_of_rows(op, shape):
    """Returns the seconds of a softmax or a cross entropy of logits of a shape."""
    if shape[-1] <= SIDE_BY_SIDE.get(type(op), 0):
        return 2 * FORMULA * prod(shape)
    return prod(shape[:-1]) * ROW + FORMULA * prod(shape)


def needs_one_thread(node):
    """Returns whether a node runs on one thread whatever runs before it."""
    if isinstance(node.op, WITH_BARRIERS):
        return seconds_alone(node) < WORTH_BARRIERS
    return steps_are_small(node)


def steps_are_small(node):
    """Returns whether a node is recurrent and one thread does a step sooner than several."""
    if not isinstance(node.op, STEP_BY_STEP):
        return False
    return seconds_alone(node) < WORTH_STEPS * node.inputs[0].shape[1]
