"""The steps of sequences in reverse order."""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.lowerings.chains import copy_array
from sparkdl.errors import UnsupportedError

THREADS = 256


def reverse_time(session, op, x, *mask_and_y):
    *mask, y = mask_and_y
    if not mask:
        return copy_array(session, op, [x[:, ::-1]], [y])
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        raise UnsupportedError("images in sequences, channels last, are not reversed on cuda")
    [mask], (examples, steps), width = mask, x.shape[:2], prod(x.shape[2:])
    if not y.size:
        return [], "reverse"
    places = session.scratch(4 * examples * steps)
    types = {"T": x.dtype.name, "M": mask.dtype.name}
    find, take = (session.family("reverse.cu", name, **types) for name in ("places", "taken"))
    first = np.uint32(examples), np.int32(steps), *mask.strides, mask, places
    then = np.uint64(y.size), np.int32(steps), np.uint32(width), places, x, y
    return [
        session.launch(find, -(-examples // THREADS), THREADS, *first),
        session.launch(take, session.grid(y.size, THREADS), THREADS, *then),
    ], "reverse"
