"""Transposed convolution, with bias and activation in one primitive if that is fast."""

from functools import partial

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import BIAS, DST, INFERENCE, SRC, WEIGHTS
from sparkdl.engine.backends.onednn.lowerings.convolutions import (
    backward_input,
    geometry,
    in_layout,
)
from sparkdl.engine.dtypes import widen
from sparkdl.errors import UnsupportedError

DIRECT = 0xA  # dnnl_deconvolution_direct


def forward(session, op, x, w, b, y, after):
    """Returns the calls of y = transposed conv of x + b, then the activation, post-ops `after`."""
    try:
        calls, name = lower_deconvolution(session, op.product, x, w, b, y, after)
        if name.startswith("brg"):  # others pass over the result again, slowly
            return calls, name
    except UnsupportedError:
        pass
    calls, name = backward_input(session, op.product, x, w, y)
    return [*calls, partial(finish, y, b.reshape(op.bias.along(y)), op.activation)], name


def lower_deconvolution(session, op, x, w, b, y, after):
    transposed, attribute = transpose_weights(op, w), session.then(*after) if after else None
    mds = session.of(x), session.any(transposed), session.of(b), session.of(y)
    name = "deconvolution_forward"
    pd = session.describe(name, INFERENCE, DIRECT, *mds, *geometry(op), attribute)
    calls, weights = in_layout(session, transposed, session.query(pd, "weights"))
    arguments = {SRC: session.at(x), WEIGHTS: weights, BIAS: session.at(b), DST: session.at(y)}
    return [*calls, session.bind(pd, arguments)], session.implementation(pd)


def transpose_weights(op, w):
    """Returns weights (C, O/G, *size) in oneDNN's order (O, C, *size), groups in front."""
    if op.groups == 1:
        return w.swapaxes(0, 1)
    return w.reshape(op.groups, w.shape[0] // op.groups, *w.shape[1:]).swapaxes(1, 2)


def finish(y, b, activation):
    total = widen(y)  # y itself, unless its numbers are narrow
    np.add(total, b, out=total)
    result = total if activation is None else activation.reference(total)
    if result is not y:
        np.copyto(y, result, casting="unsafe")
