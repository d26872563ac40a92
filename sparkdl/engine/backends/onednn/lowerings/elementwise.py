"""Elementwise functions, alone or as post-ops of a product."""

from ctypes import c_float

from sparkdl.engine.backends.onednn.binding.api import DIFF_DST, DIFF_SRC, DST, SRC, SRC_1, TRAINING
from sparkdl.engine.ops.activation import EluOp, LeakyReluOp, ReluOp, SigmoidOp, TanhOp
from sparkdl.engine.ops.gelu import GeluOp

RELU, TANH, ELU, LINEAR, LOGISTIC, GELU_TANH, GELU_ERF = 0x20, 0x21, 0x22, 0x26, 0x29, 0x2B, 0x31
KINDS = {ReluOp: RELU, LeakyReluOp: RELU, TanhOp: TANH, SigmoidOp: LOGISTIC, EluOp: ELU}
RELU_BY_RESULT = 0x100  # dnnl_eltwise_relu_use_dst_for_bwd
ADD = 0x1FFF0  # dnnl_binary_add
# Post-op that adds what the result's memory holds: factor 1, no zero point, the result's type.
ADD_TO_RESULT = "sum", c_float(1), 0, 0


def after_product(op):
    """Returns the post-ops that apply a function to a product; see OneDnnSession.then."""
    kind = gelu(op) if isinstance(op, GeluOp) else KINDS[type(op)]
    return [("eltwise", kind, c_float(getattr(op, "alpha", 0)), c_float(0))]


def gelu(op):
    return GELU_TANH if op.approximate else GELU_ERF


def forward_pd(session, kind, x, y):
    rest = c_float(0), c_float(0), None
    return session.describe("eltwise_forward", TRAINING, kind, session.of(x), session.of(y), *rest)


def forward(session, op, x, y):
    """Returns the calls of y = gelu(x)."""
    pd = forward_pd(session, gelu(op), x, y)
    return [session.bind(pd, {SRC: session.at(x), DST: session.at(y)})], session.implementation(pd)


def backward(session, op, gy, x, gx):
    """Returns the calls of gelu's gradient gx, from gy and x."""
    hint = forward_pd(session, gelu(op), x, gy)
    mds = session.of(gx), session.of(gy), session.of(x)
    rest = c_float(0), c_float(0), hint, None
    pd = session.describe("eltwise_backward", gelu(op), *mds, *rest)
    arguments = {SRC: session.at(x), DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    return [session.bind(pd, arguments)], session.implementation(pd)


def relu(session, op, x, y):
    """Returns the calls of y = max(x, 0)."""
    pd = forward_pd(session, RELU, x, y)
    return [session.bind(pd, {SRC: session.at(x), DST: session.at(y)})], session.implementation(pd)


def relu_gradient(session, op, gy, y, gx):
    """Returns the calls of relu's gradient gx, from gy and y."""
    hint = forward_pd(session, RELU_BY_RESULT, y, y)
    mds = session.of(gx), session.of(gy), session.of(y)
    rest = c_float(0), c_float(0), hint, None
    pd = session.describe("eltwise_backward", RELU_BY_RESULT, *mds, *rest)
    arguments = {DST: session.at(y), DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    return [session.bind(pd, arguments)], session.implementation(pd)


def add(session, op, x, y, z):
    """Returns the calls of z = x + y, one of which may broadcast."""
    x, y = (a.reshape((1,) * (z.ndim - a.ndim) + a.shape) for a in (x, y))
    x, y = (x, y) if x.shape == z.shape else (y, x)
    pd = session.describe("binary", ADD, session.of(x), session.of(y), session.of(z), None)
    arguments = {SRC: session.at(x), SRC_1: session.at(y), DST: session.at(z)}
    return [session.bind(pd, arguments)], session.implementation(pd)


def cast(session, op, x, y):
    """Returns the calls that copy x to the type of y."""
    return [session.reorder(session.at(x), session.at(y))], "reorder"
