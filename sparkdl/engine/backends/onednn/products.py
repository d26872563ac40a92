"""Matrix products, with bias and ReLU in the same primitive."""

from sparkdl.engine.backends.onednn.api import BIAS, DST, SRC, WEIGHTS


def forward(session, op, x, w, y, bias=None, relu=False):
    """(call, kernel's name) of y = x w (+ bias), either of them transposed as `op` says."""
    x, w = op.operands(x, w)
    wide = None if bias is None else bias.reshape(1, -1)
    bias_md = None if wide is None else session.of(wide)
    attribute = session.relu_after() if relu else None
    pd = session.describe("matmul", session.of(x), session.of(w), bias_md, session.of(y), attribute)
    arguments = {SRC: session.at(x), WEIGHTS: session.at(w), DST: session.at(y)}
    if wide is not None:
        arguments[BIAS] = session.at(wide)
    return [session.bound(pd, arguments)], session.implementation(pd)
