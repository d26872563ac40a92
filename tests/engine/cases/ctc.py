"""Rows for the CTC loss."""

import jax
import numpy as np
import optax

from sparkdl.engine import ops
from sparkdl.engine.ops.ctc import CtcLossGradOp
from tests.engine.cases.case import Case
from tests.engine.support import uniform

# steps that just suffice and more, repeated labels, no labels
LABELS = np.array([[1, 2, 1], [3, 3, -1], [2, -1, -1], [-1, -1, -1]], np.int32)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0]], np.float32)
ALL = np.ones_like(MASK)
LOGITS, GY = uniform(30, 4, 5, 4), uniform(31, 4)


def theirs(mask, blank):
    """Returns optax's loss with our `blank` class."""

    def loss(logits):
        padded = (LABELS < 0).astype(float)
        labels = np.where(LABELS < 0, 0, LABELS)
        return optax.ctc_loss(logits, 1 - mask, labels, padded, blank_id=blank, log_epsilon=-1e6)

    return loss


def rows(name, mask, blank):
    def ours(logits):
        return ops.ctc_loss(logits, LABELS, None if mask is ALL else mask, blank)

    def grad(gy, logits):
        return CtcLossGradOp(blank)(gy, logits, LABELS, mask)

    def like(gy, logits):
        return jax.vjp(theirs(mask, blank), logits)[1](gy)[0]

    yield f"CtcLoss{name}", Case(ours, (LOGITS,), theirs(mask, blank))
    yield f"CtcLossGrad{name}", Case(grad, (GY, LOGITS), like)


CASES = {**dict(rows("", ALL, 0)), **dict(rows(" masked", MASK, 0))}
