"""Means of buffers over workers."""

import numpy as np

FEW = 1 << 18  # numbers that are sooner sent than asked about


def mean_buffers(worker, weight, own=None):
    """Replaces the replica's buffers by their mean over workers, weighted by examples.

    Numbers that no worker has changed since the last mean stay as they are, to the bit: constants,
    such as masks with infinities, and parameters of modules that are not trained. Where there are
    many numbers, arrays of which that is true are not sent. A worker without examples adds zeros.

    Parameters
    ----------
    weight : float
        Examples that this worker has trained since the last mean; with `own`, its share of those
        of all who have the same numbers.
    own : bool (n,), optional
        The numbers that this worker has; None: all of them.
    """
    buffers, start = worker.replica.buffers, worker.start_buffers
    if not len(buffers) or worker.size == 1:
        return
    with (
        worker.exchanging(),
        np.errstate(all="ignore"),
    ):  # numbers that are not finite are reported with a round
        changed = changed_numbers(buffers, start)
        sent = numbers_to_send(worker, changed)
        if sent.any():
            part = None if own is None else own[sent]
            buffers[sent] = mean_of(worker.group, buffers[sent], changed[sent], weight, part)
            start[sent] = buffers[sent]


def changed_numbers(x, start):
    """Returns which numbers (n,) of x have other bits than at the start."""
    bits = f"u{x.itemsize}"
    return x.view(bits) != start.view(bits)


def numbers_to_send(worker, changed):
    """Returns which numbers (n,) belong to arrays that a worker has changed; all must ask."""
    if len(changed) <= FEW:
        return np.ones_like(changed)
    parts = worker.conf.buffers_layout.slices.values()
    flags = np.array([changed[part].any() for part in parts], np.int64)
    worker.group.all_reduce(flags, op="max")
    return np.repeat(flags > 0, [part.stop - part.start for part in parts])


def mean_of(group, x, changed, weight, own):
    """Returns the mean of x (n,) over workers; the numbers that none has changed as they are."""
    sums = np.empty(2 * len(x) + 1, x.dtype)
    fill_addend(sums, x, changed, weight, own)
    group.all_reduce(sums)
    return mean_from(sums, x, own is None)


def fill_addend(out, x, changed, weight, own=None):
    """Fills out (2 n + 1,) with x (n,) times the weight, what has changed, and the weight."""
    part, counts = out[: len(x)], out[len(x) : -1]
    part[:] = 0
    if weight:
        np.multiply(x, x.dtype.type(weight), out=part)
    if own is not None:
        part[~own] = 0
    counts[:], out[-1] = changed, weight


def mean_from(sums, x, divides=True):
    """Returns the mean from the sums over workers of what `fill_addend` gives, in their memory."""
    mean, counts = sums[: len(x)], sums[len(x) : -1]
    if divides:
        mean /= sums[-1]
    np.copyto(mean, x, where=counts == 0)
    return mean


class Infinities:
    """The infinite numbers that buffers start from and may keep, such as those of masks."""

    def __init__(self, conf, vector):
        self._places = np.flatnonzero(np.isinf(vector) & conf.keeps_constants)
        self._values = vector[self._places]

    def are_all_in(self, vector):
        """Returns whether all that is not finite in a vector was so at the start already."""
        with np.errstate(all="ignore"):
            if np.isfinite(vector.sum(dtype=np.float64)):
                return True
        unchanged = np.count_nonzero(vector[self._places] == self._values)
        return bool(np.count_nonzero(~np.isfinite(vector)) == unchanged)
