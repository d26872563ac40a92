"""Local response normalization, across channels or within them, and its gradient."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import WIDEST
from sparkdl.engine.backends.cuda.kernels.windows import THREADS, require_narrow_floats

SIZES = "channels", "height", "width", "across", "around"
LOCAL = np.dtype([(n, "i4") for n in SIZES] + [(n, "f4") for n in ("scale", "k", "beta")])
IMAGE = np.dtype([(name, "i8") for name in ("example", "channel", "row", "column")])
CONSTANTS = np.dtype([(n, "f4") for n in ("scale", "k")])


def forward(session, op, x, y):
    require_narrow_floats(x, y)
    if over_neighboring_channels(op, x, y):
        return channel_calls(session, op, "lrn_channels", x, y)
    return calls(session, op, x, [("lrn", (x, y), ())])


def backward(session, op, gy, x, gx):
    """Computes each number's term for its neighbors first, then each number's gradient."""
    require_narrow_floats(gy, x, gx)
    if over_neighboring_channels(op, gy, x, gx):
        return channel_calls(session, op, "lrn_channels_grad", gy, x, gx)
    through = session.scratch(x.size * 4)
    first, then = ("lrn_through", (gy, x), (through,)), ("lrn_grad", (gy, x, gx), (through,))
    return calls(session, op, x, [first, then])


def over_neighboring_channels(op, *arrays):
    """Returns whether channels are last and both sides' neighbors fit in a wide access."""
    number = WIDEST // arrays[0].itemsize
    return (
        not op.within
        and 2 * (op.size // 2) <= number
        and arrays[0].shape[1] % number == 0
        and all(np.moveaxis(a, 1, -1).flags.c_contiguous for a in arrays)
        and all(a.address % WIDEST == 0 for a in arrays)
    )


def channel_calls(session, op, name, *arrays):
    """Returns a launch of a kernel of lrn_channels.cu."""
    x, number = arrays[0], WIDEST // arrays[0].itemsize
    kinds = {"T": x.dtype.name, "V": number, "ACROSS": op.size // 2, "BETA": f"{op.beta!r}f"}
    function = session.family("lrn_channels.cu", name, **kinds)
    constants = np.array((op.alpha / op.size, op.k), CONSTANTS)
    count = x.size // number
    values = constants, np.uint32(x.shape[1] // number), np.uint32(count), *arrays
    grid = session.grid(count, THREADS)
    return [session.launch(function, grid, THREADS, *values)] if count else [], name


def calls(session, op, x, kernels):
    """Returns a launch per (name, arrays, scratch); the array written comes after scratch."""
    launches = []
    for name, arrays, scratch in kernels if x.size else []:
        function = session.family("lrn.cu", name, T=x.dtype.name)
        read = 2 if scratch else 1
        pointers = *arrays[:read], *scratch, *arrays[read:]
        images = [np.array(tuple(s // a.itemsize for s in a.strides), IMAGE) for a in arrays]
        values = local(op, x), np.uint32(x.size), *images, *pointers
        launches.append(session.launch(function, session.grid(x.size, THREADS), THREADS, *values))
    return launches, kernels[-1][0]


def local(op, x):
    half, (_, channels, height, width) = op.size // 2, x.shape
    across, around = (0, half) if op.within else (half, 0)
    scale = op.alpha / (op.size**2 if op.within else op.size)
    return np.array((channels, height, width, across, around, scale, op.k, op.beta), LOCAL)
