"""Loss scaling, without which small gradients underflow to 0 in float16.

The loss is multiplied by a scale before its gradient is taken, and the gradient is divided by it.
An update with a non-finite gradient is skipped and halves the scale; after `INTERVAL` finite ones
in a row the scale doubles. The state is part of the network's vectors, so programs decide without
the host.

References
----------
Micikevicius et al., Mixed precision training (2018), section 3.2; the numbers are those of
torch.amp.GradScaler.
"""

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import DivergedError

FLOAT16 = "float16"
FIRST, FACTOR, INTERVAL, LARGEST = 2.0**16, 2.0, 2000, 2.0**126

SCALE, GOOD, SKIPPED = "float16/scale", "float16/good", "float16/skipped"
BUFFERS = ((SCALE, ()), (GOOD, ()))  # the scale, and updates since its last change
SLOTS = (
    (SKIPPED, ()),
)  # updates skipped since the slots were created: the optimizer does not count them
LEFT_OUT = "float16/left out"  # the same, over the life of a replica


def scale_gradients(gradients, loss, scale):
    """Returns the `gradients` of a loss (), computed from the loss times `scale`."""
    share = ops.div(1.0, scale)
    return [ops.mul(grad, share) for grad in gradients(ops.mul(loss, scale))]


def guard_update(update, params, grad, slots, rate, t):
    """Returns (params, slots) after `update`, or unchanged if the gradient is not finite.

    Parameters
    ----------
    update : function of params, grad, slots, rate, t
    grad : float (n,)
        If it is not finite, only the scale and the counts change.
    slots : dict
        Includes the state of the scale.
    """
    finite = is_finite(grad)
    grad = ops.where(finite, grad, 0.0)  # all that follows depends on `finite`, so it is one pass
    moved, after = update(params, grad, slots, rate, ops.sub(t, slots[SKIPPED]))
    after = {name: ops.where(finite, new, slots[name]) for name, new in after.items()}
    after |= {SKIPPED: count_skipped(finite, slots[SKIPPED])} | next_scale(finite, slots)
    return ops.where(finite, moved, params), after


def next_scale(finite, slots):
    """Returns the scale's state after a finite (1) or other (0) gradient; see `guard_update`."""
    scale, good = slots[SCALE], ops.mul(finite, ops.add(slots[GOOD], 1.0))
    grows = ops.greater(good, INTERVAL - 0.5)
    larger = ops.where(grows, ops.minimum(ops.mul(scale, FACTOR), LARGEST), scale)
    new = ops.where(finite, larger, ops.div(scale, FACTOR))
    left_out = count_skipped(finite, slots[LEFT_OUT])
    return {SCALE: new, GOOD: ops.where(grows, 0.0, good), LEFT_OUT: left_out}


def count_skipped(finite, before):
    """Adds one to the count of skipped updates unless the gradient is finite."""
    return ops.add(before, ops.sub(1.0, finite))


def is_finite(grad):
    """Returns 1 if all numbers of a vector are finite, else 0.

    It tests the sum, which is finite only if they are.
    """
    return ops.greater(np.inf, ops.abs(ops.sum(grad)))


def check_scale(conf, buffers):
    """Raises DivergedError if the scale is below 1: gradients have not been finite for long."""
    if conf.dtype != FLOAT16:
        return
    scale = float(conf.buffers_layout.views(buffers)[SCALE])
    if not scale >= 1:
        raise DivergedError(
            f"gradients in float16 are not finite, though the loss scale has fallen to {scale:g}: "
            "lower the learning rate, clip gradients, or compute in bfloat16"
        )


def first_buffers(conf, buffers):
    """Initializes the scale in the buffer vector."""
    if conf.dtype == FLOAT16:
        conf.buffers_layout.views(buffers)[SCALE][...] = np.float32(FIRST)
