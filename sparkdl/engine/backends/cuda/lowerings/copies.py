"""The same numbers in another arrangement, as strided copies."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import walks
from sparkdl.engine.backends.cuda.lowerings.chains import copy_array

THREADS = 256


def copy_view(session, op, x, y):
    """Copies the view that an operation returns of its input."""
    return copy_array(session, op, [op.reference(x)], [y])


def transpose(session, op, x, y):
    return copy_array(session, op, [x.transpose(op.axes)], [y])


def pad(session, op, x, y):
    """Fills y with zeros, then copies x inside."""
    inside = tuple(slice(a, a + n) for a, n in zip(op.before, x.shape, strict=True))
    return [
        session.fill(y.flat_bytes()),
        *copy_array(session, op, [x], [y[inside]])[0],
    ], "fill, copy"


def relayout(session, op, x, y):
    """Reshapes between memory orders: a strided copy if one side can be viewed as the other."""
    if y.flags.c_contiguous:
        return copy_array(session, op, [x], [y.reshape(x.shape)])
    if x.flags.c_contiguous:
        return copy_array(session, op, [x.reshape(y.shape)], [y])
    function = session.family("relayout.cu", "relayout", T=f"uint{8 * x.itemsize}")
    values = *walks(x), *walks(y), np.uint32(x.size), x, y
    calls = [session.launch(function, session.grid(x.size, THREADS), THREADS, *values)]
    return calls if x.size else [], "relayout"
