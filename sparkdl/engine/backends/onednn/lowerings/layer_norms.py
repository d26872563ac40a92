"""Layer normalization and its gradient, with the normalized axis moved last for oneDNN."""

from ctypes import c_float

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import (
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
from sparkdl.engine.backends.onednn.lowerings.normalization import BACKWARD, SCALE_AND_SHIFT, bind
from sparkdl.errors import UnsupportedError


def forward_pd(session, op, x, y, mean):
    mds = session.of(x), session.of(y), session.of(mean)
    rest = c_float(op.epsilon), SCALE_AND_SHIFT, None
    return session.describe("layer_normalization_forward", TRAINING, *mds, *rest)


def forward(session, op, x, gamma, beta, y, mean, variance):
    x, y = statistics_last(op, x, y)
    pd = forward_pd(session, op, x, y, mean)
    arrays = {SRC: x, SCALE: gamma, SHIFT: beta, DST: y, MEAN: mean, VARIANCE: variance}
    return bind(session, pd, arrays)


def backward(session, op, gy, x, gamma, mean, variance, gx, ggamma, gbeta):
    gy, x, gx = statistics_last(op, gy, x, gx)
    hint = forward_pd(session, op, x, gy, mean)
    mds = session.of(gx), session.of(gy), session.of(x), session.of(mean)
    rest = c_float(op.epsilon), SCALE_AND_SHIFT, hint, None
    pd = session.describe("layer_normalization_backward", BACKWARD, *mds, *rest)
    arrays = {DIFF_DST: gy, SRC: x, SCALE: gamma, MEAN: mean, VARIANCE: variance}
    arrays |= {DIFF_SRC: gx, DIFF_SCALE: ggamma, DIFF_SHIFT: gbeta}
    arrays[SHIFT] = gamma  # required but never read: the gradient does not depend on beta
    return bind(session, pd, arrays)


def statistics_last(op, *arrays):
    """Returns views with the axis of the statistics last.

    Raises
    ------
    UnsupportedError
        If the layouts differ: oneDNN assumes the layout of one array for all.
    """
    if len({strides(a) for a in arrays}) > 1:
        raise UnsupportedError("what is normalized and its gradients lie in different orders")
    return [np.moveaxis(a, op.axis, -1) for a in arrays]


def strides(array):
    """Returns the strides of the axes with more than one number."""
    return tuple(s for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
