"""Batch normalization with batch statistics, and its gradient."""

from ctypes import c_float

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import (
    DIFF_DST,
    DIFF_SCALE,
    DIFF_SHIFT,
    DIFF_SRC,
    DST,
    INFERENCE,
    MEAN,
    SCALE,
    SHIFT,
    SRC,
    TRAINING,
    VARIANCE,
    WORKSPACE,
)
from sparkdl.engine.native import batch_norms
from sparkdl.errors import UnsupportedError

GLOBAL = 1  # dnnl_use_global_stats
SCALE_AND_SHIFT = 2 | 4  # dnnl_use_scale, dnnl_use_shift
RELU = 8  # dnnl_fuse_norm_relu
BACKWARD = 128  # dnnl_backward: data, scale and shift


def lower_inference(session, op, x, gamma, beta, mean, variance, y, relu=False):
    """Returns the calls of y with given statistics, optionally with a ReLU."""
    call = loops(batch_norms.inference_kernel, x, op, x, gamma, beta, mean, variance, y, relu=relu)
    if call is not None:
        return call
    flags = SCALE_AND_SHIFT | GLOBAL | (RELU if relu else 0)
    pd = forward_pd(session, op, x, y, flags, INFERENCE)
    arrays = {SRC: x, SCALE: gamma, SHIFT: beta, DST: y, MEAN: mean, VARIANCE: variance}
    return bind(session, pd, arrays)


def forward_pd(session, op, x, y, flags=SCALE_AND_SHIFT, kind=TRAINING):
    arguments = session.of(x), session.of(y), c_float(op.epsilon), flags, None
    return session.describe("batch_normalization_forward", kind, *arguments)


def backward_pd(session, op, gy, x, gx, hint, flags=SCALE_AND_SHIFT):
    mds = session.of(gx), session.of(gy), session.of(x)
    rest = c_float(op.epsilon), flags, hint, None
    return session.describe("batch_normalization_backward", BACKWARD, *mds, *rest)


def forward(session, op, x, gamma, beta, y, mean, variance):
    kernel = loops(batch_norms.forward, x, op, x, gamma, beta, y, mean, variance)
    if kernel is not None:
        return kernel
    pd = forward_pd(session, op, x, y)
    arrays = {SRC: x, SCALE: gamma, SHIFT: beta, DST: y, MEAN: mean, VARIANCE: variance}
    return bind(session, pd, arrays)


def backward(session, op, gy, x, gamma, mean, variance, gx, ggamma, gbeta):
    rest = mean, variance, gx, ggamma, gbeta
    kernel = loops(batch_norms.backward, x, op, gy, x, gamma, None, *rest)
    if kernel is not None:
        return kernel
    pd = backward_pd(session, op, gy, x, gx, forward_pd(session, op, x, gy))
    arrays = {DIFF_DST: gy, SRC: x, SCALE: gamma, MEAN: mean, VARIANCE: variance}
    arrays |= {DIFF_SRC: gx, DIFF_SCALE: ggamma, DIFF_SHIFT: gbeta}
    return bind(session, pd, arrays)


def relu_forward(session, op, x, gamma, beta, y, mean, variance, signs):
    """Fuses `forward` and ReLU if the kernel can leave `signs` for the gradient."""
    kernel = loops(batch_norms.forward, x, op, x, gamma, beta, y, mean, variance, relu=True)
    if kernel is not None:
        return kernel
    pd = relu_pd(session, op, x, y, signs)
    if pd is None:
        calls, name = forward(session, op, x, gamma, beta, y, mean, variance)
        return [*calls, lambda: np.maximum(y, 0, out=y)], f"{name}, then numpy"
    arrays = {SRC: x, SCALE: gamma, SHIFT: beta, DST: y, MEAN: mean, VARIANCE: variance}
    return bind(session, pd, arrays, {WORKSPACE: session.workspace(pd, signs)})


def relu_backward(session, op, gy, x, gamma, beta, mean, variance, y, signs, gx, ggamma, gbeta):
    rest = mean, variance, gx, ggamma, gbeta
    kernel = loops(batch_norms.backward, x, op, gy, x, gamma, beta, *rest)
    if kernel is not None:
        return kernel
    hint = relu_pd(session, op, x, y, signs)
    flags = SCALE_AND_SHIFT | RELU
    pd = None if hint is None else fast(session, backward_pd, op, gy, x, gx, hint, flags)
    if pd is None:
        calls, name = backward(session, op, gx, x, gamma, *rest)
        return [lambda: np.multiply(gy, y > 0, out=gx), *calls], f"numpy, then {name}"
    arrays = {DIFF_DST: gy, SRC: x, SCALE: gamma, MEAN: mean, VARIANCE: variance}
    arrays |= {DIFF_SRC: gx, DIFF_SCALE: ggamma, DIFF_SHIFT: gbeta}
    return bind(session, pd, arrays, {WORKSPACE: session.workspace(hint, signs)})


def loops(make, x, *arguments, **options):
    """Returns (calls, name) of compiled loops if they fit and are faster, else None."""
    if not batch_norms.is_preferred(x):
        return None
    try:
        return [make(*arguments, **options)], "compiled loop"
    except UnsupportedError:
        return None


def relu_pd(session, op, x, y, signs):
    """Returns the forward pass with ReLU, if a fast kernel's workspace fits in `signs`.

    Forward and backward pass both decide by it, so that one can read what the other wrote.
    """
    if batch_norms.is_preferred(x):  # the other pass may run there, without signs
        return None
    pd = fast(session, forward_pd, op, x, y, SCALE_AND_SHIFT | RELU)
    left = 0 if pd is None else session.size(session.query(pd, "workspace"))
    return pd if left <= signs.nbytes else None


def fast(session, describe, *arguments):
    """Returns a descriptor, or None if oneDNN only has its reference."""
    try:
        pd = describe(session, *arguments)
    except UnsupportedError:
        return None
    return None if session.implementation(pd).startswith("ref") else pd


def bind(session, pd, arrays, more=None):
    arguments = {key: session.at(array) for key, array in arrays.items()} | (more or {})
    return [session.bind(pd, arguments)], session.implementation(pd)
