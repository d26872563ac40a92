"""Means of buffers over workers."""

import numpy as np

FEW = 1 << 18  # up to so many numbers, sending all is faster than asking which changed


def mean_buffers(worker, weight, own=None):
    """Replaces the replica's buffers by their mean over workers, weighted by examples.

    Numbers that no worker has changed since the last mean stay bitwise the same: constants, such as
    masks with infinities, and parameters of modules that are not trained. If there are many
    numbers, unchanged arrays are not sent. A worker without examples adds zeros.

    Parameters
    ----------
    weight : float
        Examples that this worker has trained since the last mean; with `own`, its share among the
        workers that have the same numbers.
    own : bool (n,), optional
        The numbers that this worker has; None: all of them.
    """
    buffers, start = worker.replica.buffers, worker.start_buffers
    if not len(buffers) or worker.size == 1:
        return
    with (
        worker.exchanging(),
        np.errstate(all="ignore"),
    ):  # non-finite numbers are reported with the round
        changed = changed_numbers(buffers, start)
        sent = numbers_to_send(worker, changed)
        if sent.any():
            part = None if own is None else own[sent]
            buffers[sent] = mean_of(worker.group, buffers[sent], changed[sent], weight, part)
            start[sent] = buffers[sent]


def changed_numbers(x, start):
    """Returns a mask (n,) of the numbers of x whose bits differ from the start."""
    bits = f"u{x.itemsize}"
    return x.view(bits) != start.view(bits)


def numbers_to_send(worker, changed):
    """Returns a mask (n,) of numbers in arrays that any worker has changed; all must call it."""
    if len(changed) <= FEW:
        return np.ones_like(changed)
    parts = worker.conf.buffers_layout.slices.values()
    flags = np.array([changed[part].any() for part in parts], np.int64)
    worker.group.all_reduce(flags, op="max")
    return np.repeat(flags > 0, [part.stop - part.start for part in parts])


def mean_of(group, x, changed, weight, own):
    """Returns the mean of x (n,) over workers; numbers that none has changed stay."""
    sums = np.empty(2 * len(x) + 1, x.dtype)
    fill_addend(sums, x, changed, weight, own)
    group.all_reduce(sums)
    return mean_from(sums, x, own is None)


def fill_addend(out, x, changed, weight, own=None):
    """Fills out (2 n + 1,) with x (n,) times the weight, the flags of changes, and the weight."""
    part, counts = out[: len(x)], out[len(x) : -1]
    part[:] = 0
    if weight:
        np.multiply(x, x.dtype.type(weight), out=part)
    if own is not None:
        part[~own] = 0
    counts[:], out[-1] = changed, weight


def mean_from(sums, x, divides=True):
    """Returns the mean, computed in place from the sums over workers of `fill_addend`'s output."""
    mean, counts = sums[: len(x)], sums[len(x) : -1]
    if divides:
        mean /= sums[-1]
    np.copyto(mean, x, where=counts == 0)
    return mean


class Infinities:
    """The infinite numbers that buffers start with and may keep, such as those of masks."""

    def __init__(self, conf, vector):
        self._places = np.flatnonzero(np.isinf(vector) & conf.keeps_constants)
        self._values = vector[self._places]

    def are_all_in(self, vector):
        """Returns whether all non-finite numbers of a vector are the infinities it started with."""
        with np.errstate(all="ignore"):
            if np.isfinite(vector.sum(dtype=np.float64)):
                return True
        unchanged = np.count_nonzero(vector[self._places] == self._values)
        return bool(np.count_nonzero(~np.isfinite(vector)) == unchanged)
