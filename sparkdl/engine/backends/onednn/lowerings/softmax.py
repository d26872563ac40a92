"""Softmax and log-softmax along the last axis, and their gradients."""

from sparkdl.engine.backends.onednn.binding.api import DIFF_DST, DIFF_SRC, DST, SRC, TRAINING
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, LogSoftmaxOp

ACCURATE, LOGARITHM = 0x30000, 0x30001


def algorithm(op):
    return LOGARITHM if isinstance(op, LogSoftmaxOp | LogSoftmaxGradOp) else ACCURATE


def forward_pd(session, op, x, y):
    rest = x.ndim - 1, None
    mds = session.of(x), session.of(y)
    return session.describe("softmax_forward", TRAINING, algorithm(op), *mds, *rest)


def forward(session, op, x, y):
    pd = forward_pd(session, op, x, y)
    return [session.bind(pd, {SRC: session.at(x), DST: session.at(y)})], session.implementation(pd)


def backward(session, op, gy, y, gx):
    _, pd = backward_pds(session, op, gy, y, gx)
    arguments = {DST: session.at(y), DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    return [session.bind(pd, arguments)], session.implementation(pd)


def backward_pds(session, op, gy, y, gx):
    """Returns the descriptors of the forward pass and of the gradient."""
    hint = forward_pd(session, op, gx, y)
    mds, rest = (session.of(gx), session.of(gy), session.of(y)), (y.ndim - 1, hint, None)
    return hint, session.describe("softmax_backward", algorithm(op), *mds, *rest)


def implementations(session, op, y):
    """Returns the kernel names of both passes, for the gradient of an array like y."""
    return [session.implementation(pd) for pd in backward_pds(session, op, y, y, y)]
