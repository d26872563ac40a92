"""Weights in the layout that a kernel requires."""

import numpy as np

from sparkdl.engine.native.llvm_code import LANES

WAY = 2048  # bytes: rows at multiples of it share few sets of the level-1 cache
LINE = 16  # numbers per cache line


def in_layout(session, array, md):
    """Returns (calls, memory) of an array in the layout `md`, reordered in each run if necessary.

    Arrays that rarely change are reordered ahead of the runs.
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


def in_panels(session, w):
    """Returns w (K, N) as (N / LANES, K, LANES), copied ahead of the runs; N is a multiple."""
    terms, columns = w.shape
    panels = session.lasting_array((columns // LANES, terms, LANES))
    source = w.reshape(terms, columns // LANES, LANES).swapaxes(0, 1)
    session.ahead.append(session.reorder(session.at(source), session.at(panels)))
    return panels


def rows_collide(w):
    """Returns whether the rows of a matrix (k, n) start at multiples of WAY bytes."""
    return w.ndim == 2 and w.flags.c_contiguous and w.strides[0] % WAY == 0


def spread_rows(w):
    """Returns memory for a matrix, with rows padded by a cache line.

    Processors without AVX-512 read matrices of products in place. Zen 3, float32: 64 x 1024 by 1024
    x 1536 4.0 to 2.5 ms, with identical bits.
    """
    return np.empty((len(w), w.shape[1] + LINE), w.dtype)[:, : w.shape[1]]
