"""Local response normalization; the gradient reads a workspace filled by the forward pass."""

from ctypes import c_float, c_int64

from sparkdl.engine.backends.onednn.binding.api import (
    DIFF_DST,
    DIFF_SRC,
    DST,
    INFERENCE,
    SRC,
    TRAINING,
    WORKSPACE,
)
from sparkdl.errors import UnsupportedError

ACROSS, WITHIN = 0xAFF, 0xBFF  # dnnl_lrn_across_channels, dnnl_lrn_within_channel


def constants(op):
    floats = (c_float(v) for v in (op.alpha, op.beta, op.k))
    return c_int64(op.size), *floats


def algorithm(op):
    return WITHIN if op.within else ACROSS


def forward_pd(session, op, x, y, kind):
    refuse_known_faults(op, x.shape[1])
    mds = session.of(x), session.of(y)
    return session.describe("lrn_forward", kind, algorithm(op), *mds, *constants(op), None)


def forward(session, op, x, y, workspace=None):
    pd = forward_pd(session, op, x, y, INFERENCE if workspace is None else TRAINING)
    arguments = {SRC: session.at(x), DST: session.at(y)} | left_in(session, pd, workspace)
    return [session.bind(pd, arguments)], session.implementation(pd)


def backward(session, op, gy, x, y, workspace, gx):
    _, pd = backward_pds(session, op, gy, x, y, gx)
    arguments = {DIFF_DST: session.at(gy), SRC: session.at(x), DIFF_SRC: session.at(gx)}
    arguments |= left_in(session, pd, workspace)
    return [session.bind(pd, arguments)], session.implementation(pd)


def backward_pds(session, op, gy, x, y, gx):
    """Returns the descriptors of the forward pass that fills the workspace, and of the gradient."""
    hint = forward_pd(session, op, x, y, TRAINING)
    mds = session.of(gx), session.of(gy), session.of(x)
    arguments = algorithm(op), *mds, *constants(op), hint, None
    return hint, session.describe("lrn_backward", *arguments)


def implementations(session, op, x):
    """Returns the kernel names of both passes, for the gradient of an array like x."""
    return [session.implementation(pd) for pd in backward_pds(session, op, *[x] * 4)]


def left_in(session, pd, workspace):
    """Returns {WORKSPACE: memory}, or {} for kernels that need none."""
    if workspace is None or not session.size(session.query(pd, "workspace")):
        return {}
    return {WORKSPACE: session.workspace(pd, workspace)}


def refuse_known_faults(op, channels):
    """Raises UnsupportedError for cases where oneDNN 3.2 crashes or returns a wrong gradient."""
    if op.size == 1:
        raise UnsupportedError("oneDNN crashes on a window of one number")
    if not op.within and op.size > 5 and channels > 16 and channels % 16:
        raise UnsupportedError("oneDNN's gradient is wrong for these channels")
