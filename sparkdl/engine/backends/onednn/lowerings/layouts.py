"""Weights in the layout that a kernel wants."""

import numpy as np

WAY = 2048  # bytes: rows at multiples of it fall on few sets of the first cache
LINE = 16  # numbers


def in_layout(session, array, md):
    """(calls, memory): the array in the layout `md`, reordered at each run where it is not.

    What changes seldom is reordered ahead of the runs.
    """
    plain = session.at(np.asarray(array))
    if session.equal(plain.md, md):
        return [], plain
    if session.holds(plain.array):
        memory = session.lasting_memory(md)
        session.ahead.append(session.reorder(plain, memory))
        return [], memory
    memory = session.transient_memory(md)
    return [session.reorder(plain, memory)], memory


def rows_collide(w):
    """Returns whether the rows of a matrix (k, n) lie at multiples of WAY bytes."""
    return w.ndim == 2 and w.flags.c_contiguous and w.strides[0] % WAY == 0


def spread_rows(w):
    """Returns memory for a matrix whose rows lie a line of the cache farther apart.

    The products of processors without AVX-512 read a matrix as it lies. Zen 3, float32: 64 x 1024
    by 1024 x 1536 4.0 to 2.5 ms, to the same bits.
    """
    return np.empty((len(w), w.shape[1] + LINE), w.dtype)[:, : w.shape[1]]
