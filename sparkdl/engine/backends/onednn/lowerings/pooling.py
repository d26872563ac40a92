"""Pooling; max pooling records positions for its gradient."""

from sparkdl.engine.backends.onednn.binding.api import (
    DIFF_DST,
    DIFF_SRC,
    DST,
    INFERENCE,
    SRC,
    TRAINING,
    WORKSPACE,
    dims,
)

MAX, WITH_PADDING, WITHOUT_PADDING = 0x1FF, 0x2FF, 0x3FF


def geometry(op):
    """Returns strides, window, dilations, padding before and after, in oneDNN's conventions."""
    before, after = zip(*op.padding, strict=True)
    dilation = [d - 1 for d in op.dilation]
    return dims(op.stride), dims(op.size), dims(dilation), dims(before), dims(after)


def algorithm(op):
    if not hasattr(op, "count_padding"):
        return MAX
    return WITH_PADDING if op.count_padding else WITHOUT_PADDING


def forward_pd(session, op, x, y, kind=TRAINING):
    mds = session.of(x), session.of(y)
    return session.describe("pooling_forward", kind, algorithm(op), *mds, *geometry(op), None)


def forward(session, op, x, y, places=None):
    """Returns the calls of y from x; `places` receives what the gradient of max pooling needs."""
    pd = forward_pd(session, op, x, y, INFERENCE if places is None else TRAINING)
    arguments = {SRC: session.at(x), DST: session.at(y)}
    if places is not None:
        arguments[WORKSPACE] = session.workspace(pd, places)
    return [session.bind(pd, arguments)], session.implementation(pd)


def backward(session, op, gy, gx, places=None):
    """Returns the calls of gx from gy."""
    hint = forward_pd(session, op, gx, gy)
    mds = session.of(gx), session.of(gy)
    pd = session.describe("pooling_backward", algorithm(op), *mds, *geometry(op), hint, None)
    arguments = {DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    if places is not None:
        arguments[WORKSPACE] = session.workspace(pd, places)
    return [session.bind(pd, arguments)], session.implementation(pd)
