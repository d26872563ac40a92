"""Convolution and its two gradients; images are channels last, weights are reordered."""

from dataclasses import replace
from functools import partial

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import (
    BIAS,
    DIFF_BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    SRC,
    TRAINING,
    WEIGHTS,
    dims,
)
from sparkdl.engine.backends.onednn.lowerings.layouts import in_layout
from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.errors import UnsupportedError

DIRECT = 1  # dnnl_convolution_direct
NARROW = 64  # channels: below it brgemm kernels waste up to a tenth


def geometry(op, stride=None):
    """Returns strides, dilations, padding before and after, in oneDNN's conventions."""
    before, after = zip(*op.padding, strict=True)
    dilation = [d - 1 for d in op.dilation]
    return dims(stride or op.stride), dims(dilation), dims(before), dims(after)


def leaps(op, image, out):
    """Returns whether an axis has one window that does not fill it, and a stride past its end."""
    axes = zip(image, out, op.stride, op.padding, strict=True)
    return any(places == 1 and 1 < n + sum(p) <= stride for n, places, stride, p in axes)


def overhangs(op, image):
    """Returns whether windows over volumes are deeper than the volume.

    With padding on both sides some windows then extend over both ends, and oneDNN 3.2 reads beyond
    the volume.
    """
    return len(image) == 3 and image[0] < op.dilation[0] * (op.size[0] - 1) + 1


def geometry_of(op, x, w):
    """Returns `geometry` for x and w, with stride 1 on axes that a window fills.

    There is no next window then. With another stride, bfloat16 kernels of weight gradients read
    beyond x, where numbers may be NaN.
    """
    axes = zip(x.shape[2:], w.shape[2:], op.stride, op.padding, op.dilation, strict=True)
    return geometry(
        op, [1 if n + sum(p) == d * (k - 1) + 1 else stride for n, k, stride, p, d in axes]
    )


def group_weights(op, w):
    """Returns weights (O, C/G, *size) with an axis for groups if there are several."""
    return w if op.groups == 1 else w.reshape(op.groups, w.shape[0] // op.groups, *w.shape[1:])


def forward_pd(session, op, x, w, y, bias=None, after=()):
    bias_md = None if bias is None else session.of(bias)
    attribute = session.then(*after) if after else None
    mds = session.of(x), session.any(group_weights(op, w)), bias_md, session.of(y)
    name = "convolution_forward"
    return session.describe(name, TRAINING, DIRECT, *mds, *geometry_of(op, x, w), attribute)


def prefer_direct(session, describe, w):
    """Returns `describe()`, or the descriptor of the direct kernel if that is faster.

    A fixed rule, not a measurement, as processes must not differ in their kernels. Zen 4, float32:
    LeNet's second convolution 2.53 to 2.24 ms forward, 3.13 to 2.79 backward; from 64 channels on
    the first choice is as fast or faster.
    """
    pd = describe()
    first = session.implementation(pd)
    if min(w.shape[:2]) >= NARROW or not first.startswith("brg") or "1x1" in first:
        return pd
    direct = f"jit:{first.rpartition(':')[2]}"
    return session.advance(describe(), direct) or pd


def column_as_row(op, x, w, y):
    """Returns (op, x, w, y) with one-column images turned into one-row images, which are faster.

    Zen 4, float32: 512 filters of 5 over a column of 512 with 256 channels 13.2 to 5.8 ms.
    """
    if len(op.size) != 2 or y.shape[2] == 1 or x.shape[3] * y.shape[3] * w.shape[3] != 1:
        return op, x, w, y
    turned = {name: getattr(op, name)[::-1] for name in ("size", "stride", "padding", "dilation")}
    return replace(op, **turned), turn(x), w.reshape(*w.shape[:2], 1, -1), turn(y)


def turn(x):
    """Returns images (N, C, H, 1) as a view (N, C, 1, H) without unused strides."""
    return np.moveaxis(np.moveaxis(x, 1, -1).reshape(len(x), 1, x.shape[2], -1), -1, 1)


def forward(session, op, x, w, y, bias=None, after=(), more=None):
    """Returns the calls of y = conv(x, w) (+ bias, then post-ops `after`, which read `more`)."""
    op, x, w, y = column_as_row(op, x, w, y) if more is None else (op, x, w, y)
    pd = prefer_direct(session, partial(forward_pd, session, op, x, w, y, bias, after), w)
    calls, weights = in_layout(session, group_weights(op, w), session.query(pd, "weights"))
    arguments = {SRC: session.at(x), WEIGHTS: weights, DST: session.at(y)} | (more or {})
    if bias is not None:
        arguments[BIAS] = session.at(bias)
    return [*calls, session.bind(pd, arguments)], session.implementation(pd)


def backward_input(session, op, gy, w, gx):
    hint = forward_pd(session, op, gx, w, gy)
    mds = session.of(gx), session.any(group_weights(op, w)), session.of(gy)
    name = "convolution_backward_data"
    describe = partial(session.describe, name, DIRECT, *mds, *geometry_of(op, gx, w), hint, None)
    pd = prefer_direct(session, describe, w)
    calls, weights = in_layout(session, group_weights(op, w), session.query(pd, "weights"))
    arguments = {DIFF_DST: session.at(gy), WEIGHTS: weights, DIFF_SRC: session.at(gx)}
    return [*calls, session.bind(pd, arguments)], session.implementation(pd)


def backward_weights(session, op, gy, x, gw, gb=None):
    """Returns the calls that compute gw, and gb if wanted, from gy and x."""
    if gw.dtype == BFLOAT16 and blind(op, x.shape[2:], gy.shape[2:]):
        raise UnsupportedError("bfloat16 weights that see only padding would stay as they were")
    if gw.dtype == BFLOAT16 and leaps(op, x.shape[2:], gy.shape[2:]):
        raise UnsupportedError("bfloat16 weights would get numbers from beyond the input")
    if gw.dtype == BFLOAT16 and overhangs(op, x.shape[2:]):
        raise UnsupportedError(
            "bfloat16 weights deeper than the volume would get numbers beyond it"
        )
    hint = forward_pd(session, op, x, gw, gy, gb)
    target = group_weights(op, gw)
    mds = session.of(x), session.any(target), None if gb is None else session.of(gb)
    name = "convolution_backward_weights"
    mds = *mds, session.of(gy)
    pd = session.describe(name, DIRECT, *mds, *geometry_of(op, x, gw), hint, None)
    chosen, target_memory = session.query(pd, "diff_weights"), session.at(target)
    same = session.equal(chosen, target_memory.md)
    memory = target_memory if same else session.transient_memory(chosen)
    arguments = {SRC: session.at(x), DIFF_DST: session.at(gy), DIFF_WEIGHTS: memory}
    if gb is not None:
        arguments[DIFF_BIAS] = session.at(gb)
    calls = [session.bind(pd, arguments)]
    if not same:
        calls.append(session.reorder(memory, target_memory))
    return calls, session.implementation(pd)


def blind(op, image, out):
    """Returns whether some position of a filter is outside the image in all windows."""
    axes = zip(image, out, op.size, op.stride, op.dilation, op.padding, strict=True)
    return any(
        not any(0 <= place * gap + i * step - before < n for i in range(count))
        for n, count, size, step, gap, (before, _) in axes
        for place in range(size)
    )
