"""Random numbers as functions of the example, bit for bit those of sparkdl.philox."""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import require_few_numbers, together, walk
from sparkdl.engine.ops.random import NormalOp
from sparkdl.errors import UnsupportedError
from sparkdl.philox import key_of

THREADS = 256


def draw(session, op, ids, epoch, y):
    if {ids.dtype, epoch.dtype} != {np.dtype(np.uint64)}:
        raise UnsupportedError("ids and epoch must be uint64")
    require_few_numbers(y)
    axes = together(zip(y.shape[1:], y.strides[1:], strict=True))
    at = walk([n for n, _ in axes], [s for _, s in axes])
    count = prod(op.to)
    if not y.size:
        return [], "draw"
    function = session.family("draw.cu", "draw", NORMAL=int(isinstance(op, NormalOp)))
    numbers = np.uint32(len(ids)), np.uint32(count), y.strides[0]
    keys = (np.uint32(k) for k in key_of(op.seed, op.stream))
    values = at, *numbers, *keys, ids, ids.strides[0], epoch, y
    threads = len(ids) * -(-count // 4)
    return [session.launch(function, session.grid(threads, THREADS), THREADS, *values)], "draw"
