"""Pooling and its gradients; those of maxima use positions stored in the forward pass."""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import WIDEST
from sparkdl.engine.backends.cuda.kernels.windows import THREADS, layout_of, windows
from sparkdl.engine.dtypes import is_float
from sparkdl.errors import UnsupportedError

MOST_UNROLLED = 64  # positions of a window


def maxima(session, op, x, y, places=None):
    at = windows(op, x.shape[2:], y.shape[2:])
    kinds = {"P": "int32" if places is None else places.dtype.name}
    where = layout_of(x), layout_of(y), layout_of(y if places is None else places)
    return pool(session, "max_pool", y, x, kinds, (at, where, (x, y, places)))


def to_places(session, op, gy, places, gx):
    at = windows(op, gx.shape[2:], gy.shape[2:])
    kinds, where = {"P": places.dtype.name}, (layout_of(gy), layout_of(places), layout_of(gx))
    return pool(session, "max_to_places", gx, gy, kinds, (at, where, (gy, places, gx)))


def backward(session, op, gy, x, y, gx):
    """Computes the gradient without stored positions: searches for the maxima again."""
    find, at, where = find_places(session, op, x, y)
    kinds, layouts = {"P": "int32"}, (layout_of(gy), layout_of(y), layout_of(gx))
    calls, name = pool(session, "max_to_places", gx, gy, kinds, (at, layouts, (gy, where, gx)))
    return [*find, *calls], name


def lower_max_pick(session, op, g, x, y, out):
    find, at, where = find_places(session, op, x, y)
    kinds, layouts = {"P": "int32"}, (layout_of(g), layout_of(y), layout_of(out))
    calls, name = pool(session, "max_picked", out, g, kinds, (at, layouts, (g, where, out)))
    return [*find, *calls], name


def find_places(session, op, x, y):
    """Returns calls that find the positions of maxima, the windows, and the positions' memory."""
    at, where = windows(op, x.shape[2:], y.shape[2:]), session.scratch(y.size * 4)
    values = at, (layout_of(x), layout_of(y), layout_of(y)), (x, None, where)
    calls, _ = pool(session, "max_pool", y, x, {"P": "int32"}, values)
    return calls, at, where


def mean(session, op, x, y):
    at = windows(op, x.shape[2:], y.shape[2:])
    kinds = {"COUNT_PADDING": int(op.count_padding)}
    return pool(session, "mean_pool", y, x, kinds, (at, (layout_of(x), layout_of(y)), (x, y)))


def mean_backward(session, op, gy, gx):
    at = windows(op, gx.shape[2:], gy.shape[2:])
    kinds = {"COUNT_PADDING": int(op.count_padding)}
    return pool(
        session, "mean_pool_grad", gx, gy, kinds, (at, (layout_of(gy), layout_of(gx)), (gy, gx))
    )


def pool(session, name, output, read, kinds, job):
    """Returns calls of a kernel with a thread for some neighboring numbers of `output`."""
    if not is_float(read.dtype):
        raise UnsupportedError(f"cuda pools floats, got {read.dtype}")
    at, where, arrays = job
    if not output.size:
        return [], name
    channels, together = output.shape[1], numbers_together(output, where, arrays)
    kinds = {"P": "int32", "COUNT_PADDING": 0, "V": together} | kinds | constants(at)
    function = session.family("pool.cu", name, T=read.dtype.name, **kinds)
    count = output.size // together
    values = at, np.uint32(channels), np.uint32(count), *where, *arrays
    return [session.launch(function, session.grid(count, THREADS), THREADS, *values)], name


def numbers_together(output, where, arrays):
    """Returns how many neighboring channels a thread can access at once."""
    number = max(1, WIDEST // output.itemsize)
    while number > 1 and not (
        output.shape[1] % number == 0
        and all(lies_together(layout, number) for layout in where)
        and all(a.address % (number * a.itemsize) == 0 for a in arrays if hasattr(a, "address"))
    ):
        number //= 2
    return number


def lies_together(layout, number):
    """Returns whether groups of `number` channels are contiguous and aligned."""
    steps = layout["example"], *layout["space"]
    return layout["channel"] == 1 and all(step % number == 0 for step in steps)


def constants(at):
    """Returns the compile-time constants of windows."""
    names = {"SIZE": "size", "STRIDE": "stride", "DILATION": "dilation"}
    found = {f"{n}{i}": int(v) for n, field in names.items() for i, v in enumerate(at[field])}
    return found | {"UNROLL": MOST_UNROLLED if prod(at["size"]) <= MOST_UNROLLED else 1}
