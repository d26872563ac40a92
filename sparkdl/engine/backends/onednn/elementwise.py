"""Functions of single numbers: by themselves, or after a product in the same primitive."""

from ctypes import c_float

from sparkdl.engine.backends.onednn.api import DIFF_DST, DIFF_SRC, DST, SRC, TRAINING
from sparkdl.engine.ops.activation import Elu, Relu, Sigmoid, Tanh
from sparkdl.engine.ops.gelu import Gelu

RELU, TANH, ELU, LINEAR, LOGISTIC, GELU_TANH, GELU_ERF = 0x20, 0x21, 0x22, 0x26, 0x29, 0x2B, 0x31


def after_product(op):
    """The steps that apply a function to what a product has given; see Session.then."""
    kinds = {Relu: RELU, Tanh: TANH, Sigmoid: LOGISTIC, Elu: ELU}
    kind = gelu(op) if isinstance(op, Gelu) else kinds[type(op)]
    return [("eltwise", kind, c_float(getattr(op, "alpha", 0)), c_float(0))]


def gelu(op):
    return GELU_TANH if op.approximate else GELU_ERF


def forward_pd(session, kind, x, y):
    rest = c_float(0), c_float(0), None
    return session.describe("eltwise_forward", TRAINING, kind, session.of(x), session.of(y), *rest)


def forward(session, op, x, y):
    """y = gelu(x)"""
    pd = forward_pd(session, gelu(op), x, y)
    return [session.bound(pd, {SRC: session.at(x), DST: session.at(y)})], session.implementation(pd)


def backward(session, op, gy, x, gx):
    """gx of gy at x"""
    hint = forward_pd(session, gelu(op), x, gy)
    mds = session.of(gx), session.of(gy), session.of(x)
    rest = c_float(0), c_float(0), hint, None
    pd = session.describe("eltwise_backward", gelu(op), *mds, *rest)
    arguments = {SRC: session.at(x), DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    return [session.bound(pd, arguments)], session.implementation(pd)
