"""Recurrent layers as one primitive per sequence: views of arrays, forward and backward.

oneDNN's logical axes are (T, N, features) for sequences, (1, 1, N, H) for states and (1, 1, in,
gates, H) for weights. All are views, so only weights are copied, to the layout of the kernel. Gate
blocks have the same order as here.
"""

from ctypes import c_float

from sparkdl.engine.backends.onednn.binding.api import (
    BIAS,
    DIFF,
    DST,
    INFERENCE,
    SRC,
    TRAINING,
    WEIGHTS,
    WORKSPACE,
)
from sparkdl.engine.backends.onednn.lowerings.layouts import in_layout
from sparkdl.engine.ops.recurrent.gru import GruOp
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.engine.ops.recurrent.simple_rnn import SimpleRnnOp

LEFT_TO_RIGHT, RIGHT_TO_LEFT = 1, 2
BACKWARD, OVERWRITE = 128, 1  # dnnl_backward, dnnl_rnn_flags_diff_weights_overwrite
ACTIVATIONS = {"relu": 0x20, "tanh": 0x21}  # dnnl_eltwise_relu, dnnl_eltwise_tanh
FREE = (WEIGHTS, WEIGHTS + 1)  # arguments with a layout chosen by the primitive


def primitive(op):
    """Returns the name of oneDNN's function without suffix."""
    if isinstance(op, GruOp):
        return "lbr_gru" if op.reset_after else "gru"
    return {LstmOp: "lstm", SimpleRnnOp: "vanilla_rnn"}[type(op)]


def views(op, inputs, outputs):
    """Returns {index of the argument: view for oneDNN}, in the order of its descriptors."""
    grouped, (y, *last) = op.group_inputs(*inputs), outputs
    units = grouped.wh.shape[0]
    result = {SRC: grouped.x.swapaxes(0, 1)}
    result |= {SRC + 1 + i: wide(state) for i, state in enumerate(grouped.states)}
    result |= {WEIGHTS + i: blocks(w, units) for i, w in enumerate((grouped.wx, grouped.wh))}
    if op.peepholes:
        result[WEIGHTS + 2] = grouped.peepholes.reshape(1, 1, 3, units)
    result |= {BIAS: grouped.b.reshape(1, 1, -1, units), DST: y.swapaxes(0, 1)}
    return result | {DST + 1 + i: wide(state) for i, state in enumerate(last)}


def wide(state):
    return state.reshape(1, 1, *state.shape)


def blocks(w, units):
    return w.reshape(1, 1, len(w), -1, units)


def descriptors(session, op, arrays, free=FREE):
    """Returns the descriptors of `arrays` in the order of the primitive's function."""
    mds = [session.any(a) if k in free else session.of(a) for k, a in arrays.items()]
    if isinstance(op, LstmOp):  # peepholes and projection, if any, follow the weights
        place = 2 + op.states + 1
        mds[place : place + op.peepholes] = [mds[place] if op.peepholes else None, None]
    return mds


def describe_primitive(session, op, direction, kind, mds, flags, *hint):
    """Returns the primitive's descriptor."""
    plain = isinstance(op, SimpleRnnOp)
    before = [ACTIVATIONS[op.activation]] if plain else []
    after = [c_float(0), c_float(0)] if plain else []
    way = RIGHT_TO_LEFT if op.backwards else LEFT_TO_RIGHT
    name = f"{primitive(op)}_{direction}"
    return session.describe(name, kind, *before, way, *mds, flags, *after, *hint, None)


def forward_pd(session, op, inputs, outputs, kind=TRAINING):
    mds = descriptors(session, op, views(op, inputs, outputs))
    return describe_primitive(session, op, "forward", kind, mds, 0)


def forward(session, op, inputs, outputs, workspace=None):
    """Returns calls that fill y and the last states, and the workspace if a gradient follows."""
    kind = INFERENCE if workspace is None else TRAINING
    pd = forward_pd(session, op, inputs, outputs, kind)
    calls, arguments = bind(session, pd, views(op, inputs, outputs))
    if workspace is not None:
        arguments[WORKSPACE] = session.workspace(pd, workspace)
    return [*calls, session.bind(pd, arguments)], kernel(session, pd)


def backward(session, op, gys, inputs, outputs, workspace, grads):
    """Returns calls that fill the gradients of all inputs, from those of y and the last states."""
    hint = forward_pd(session, op, inputs, outputs)
    arrays, diffs = views(op, inputs, outputs), views(op, grads, gys)
    mds = descriptors(session, op, arrays) + descriptors(session, op, diffs, free=())
    pd = describe_primitive(session, op, "backward", BACKWARD, mds, OVERWRITE, hint)
    calls, arguments = bind(session, pd, arrays)
    arguments |= {DIFF + index: session.at(array) for index, array in diffs.items()}
    arguments[WORKSPACE] = session.workspace(hint, workspace)
    return [*calls, session.bind(pd, arguments)], kernel(session, pd)


def bind(session, pd, arrays):
    """Returns (calls that reorder the weights, {index: memory})."""
    calls, arguments = [], {}
    for index, array in arrays.items():
        if index in FREE:
            md = session.query(pd, "weights", index - WEIGHTS)
            more, arguments[index] = in_layout(session, array, md)
            calls += more
        else:
            arguments[index] = session.at(array)
    return calls, arguments


def kernel(session, pd):
    """Returns the kernel's name; oneDNN's "ref" here means packed products and compiled cells."""
    name = session.implementation(pd)
    return "packed gemm and cells" if name.startswith("ref") else name
