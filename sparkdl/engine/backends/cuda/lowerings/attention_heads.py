"""Products of sequences per head, on views: no head is copied."""

import numpy as np

from sparkdl.engine.backends.cuda.lowerings.chains import chain
from sparkdl.engine.backends.cuda.lowerings.products import product
from sparkdl.engine.ops.elementwise import add


def scores(session, op, q, k, *bias_and_y):
    *bias, y = bias_and_y
    maps = op.by_examples(y)
    keys = np.swapaxes(by_heads(op, k), 2, 3)
    calls, *name = product(session, by_heads(op, q), keys, maps, scale=op.scale)
    for b in bias:
        wide = np.broadcast_to(np.expand_dims(b, 1), maps.shape)
        calls = [*calls, *chain(session, add, [maps, wide], [maps])[0]]
    return calls, *name


def mix(session, op, maps, v, y):
    maps = op.by_examples(maps)
    maps = np.swapaxes(maps, 2, 3) if op.back else maps
    return product(session, maps, by_heads(op, v), by_heads(op, y), scale=op.scale)


def by_heads(op, x):
    """Returns (N, T, F) as (N, H, T, d), a view."""
    return np.swapaxes(x.reshape(*x.shape[:2], op.heads, x.shape[2] // op.heads), 1, 2)
