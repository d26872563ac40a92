"""Batch normalisation with the batch's statistics, and its gradient."""

from ctypes import c_float

from sparkdl.engine.backends.onednn.api import (
    DIFF_DST,
    DIFF_SCALE,
    DIFF_SHIFT,
    DIFF_SRC,
    DST,
    MEAN,
    SCALE,
    SHIFT,
    SRC,
    TRAINING,
    VARIANCE,
)

SCALE_AND_SHIFT = 2 | 4  # dnnl_use_scale, dnnl_use_shift
BACKWARD = 128  # dnnl_backward: data, scale and shift


def forward_pd(session, op, x, y):
    arguments = session.of(x), session.of(y), c_float(op.epsilon), SCALE_AND_SHIFT, None
    return session.describe("batch_normalization_forward", TRAINING, *arguments)


def forward(session, op, x, gamma, beta, y, mean, variance):
    pd = forward_pd(session, op, x, y)
    arrays = {SRC: x, SCALE: gamma, SHIFT: beta, DST: y, MEAN: mean, VARIANCE: variance}
    arguments = {key: session.at(array) for key, array in arrays.items()}
    return [session.bound(pd, arguments)], session.implementation(pd)


def backward(session, op, gy, x, gamma, mean, variance, gx, ggamma, gbeta):
    hint = forward_pd(session, op, x, gy)
    mds = session.of(gx), session.of(gy), session.of(x)
    rest = c_float(op.epsilon), SCALE_AND_SHIFT, hint, None
    pd = session.describe("batch_normalization_backward", BACKWARD, *mds, *rest)
    arrays = {DIFF_DST: gy, SRC: x, SCALE: gamma, MEAN: mean, VARIANCE: variance}
    arrays |= {DIFF_SRC: gx, DIFF_SCALE: ggamma, DIFF_SHIFT: gbeta}
    arguments = {key: session.at(array) for key, array in arrays.items()}
    return [session.bound(pd, arguments)], session.implementation(pd)
