"""The CTC loss unrolled into operations, for its second derivative."""

import numpy as np

from sparkdl.engine.ops.elementwise import (
    add,
    exp,
    greater,
    log,
    maximum,
    minimum,
    mul,
    neg,
    sub,
    where,
)
from sparkdl.engine.ops.reduce import max as max_along
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import concat, reshape, slice, stop_gradient
from sparkdl.engine.ops.softmax import log_softmax, one_hot

LOG_ZERO = -1e30  # stands for the logarithm of 0


def loss(logits, labels, mask, blank):
    """Returns the loss (N,) of logits (N, T, C), labels (N, L) padded with -1 and a mask (N, T)."""
    n, steps, _ = logits.shape
    states = with_blanks(labels, blank)
    emitted, skips = emissions(logits, states), skippable(states, blank)
    alpha = np.full(states.shape, LOG_ZERO, logits.dtype)
    alpha[:, 0] = 0
    for t in range(steps):
        skipped = where(skips, shift_columns(alpha, 2), np.asarray(LOG_ZERO, logits.dtype))
        ways = sum_of(alpha, shift_columns(alpha, 1), skipped)
        after = add(
            ways, reshape(slice(emitted, (0, t, 0), (n, t + 1, states.shape[1])), ways.shape)
        )
        alpha = where(slice(mask, (0, t), (n, t + 1)), after, alpha)
    return neg(total(alpha, ends(labels, states.shape[1], logits.dtype)))


def with_blanks(labels, blank):
    """Returns the labels with blanks between and around them, (N, S)."""
    n, length = labels.shape
    blanks = np.full((n, length, 1), blank, labels.dtype)
    pairs = concat([blanks, reshape(labels, (n, length, 1))], 2)
    return concat([reshape(pairs, (n, 2 * length)), np.full((n, 1), blank, labels.dtype)], 1)


def emissions(logits, states):
    """Returns the log probability of each state's class at each step, (N, T, S)."""
    n, steps, classes = logits.shape
    logp = reshape(log_softmax(logits), (n, steps, 1, classes))
    emits = one_hot(states, classes, logits.dtype)
    return sum_along(mul(logp, reshape(emits, (n, 1, *emits.shape[1:]))), 3)


def skippable(states, blank):
    """Returns 1 for states reachable from two before: labels unlike the label before them."""
    n, s = states.shape
    before = concat([np.full((n, 2), blank, states.dtype), states], 1)
    before = slice(before, (0, 0), (n, s))
    return minimum(differ(states, before), differ(states, np.full((n, s), blank, states.dtype)))


def differ(x, y):
    return add(greater(x, y), greater(y, x))


def ends(labels, states, dtype):
    """Returns 1 for the states in which a sequence may end, (N, S)."""
    last = mul(sum_along(greater(labels, np.full((1, 1), -1, labels.dtype)), 1), 2)
    return add(one_hot(last, states, dtype), one_hot(sub(last, 1), states, dtype))


def shift_columns(x, by):
    """Shifts the columns of x (N, S) right by `by`."""
    n, s = x.shape
    return slice(concat([np.full((n, by), LOG_ZERO, x.dtype), x], 1), (0, 0), (n, s))


def sum_of(x, y, z):
    """Returns the log of e^x + e^y + e^z."""
    top = stop_gradient(maximum(maximum(x, y), z))
    return add(top, log(add(add(exp(sub(x, top)), exp(sub(y, top))), exp(sub(z, top)))))


def total(alpha, at):
    """Returns the log of the sum of e^alpha over the states `at`, (N,)."""
    active = where(at, alpha, np.asarray(LOG_ZERO, alpha.dtype))
    top = stop_gradient(max_along(active, 1, keepdims=True))
    return add(reshape(top, (-1,)), log(sum_along(mul(at, exp(sub(active, top))), 1)))
