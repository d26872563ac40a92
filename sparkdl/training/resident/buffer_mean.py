"""Means over workers."""

import numpy as np


def mean_buffers(worker, examples):
    """Replaces the replica's buffers by their mean over workers, weighted by examples.

    The examples ride behind the buffers: a worker without data adds zeros.
    """
    buffers = worker.replica.buffers
    if not len(buffers):
        return
    with (
        worker.exchanging(),
        np.errstate(all="ignore"),
    ):  # numbers that are not finite are reported with a round
        total = np.append(buffers * np.float32(examples), np.float32(examples))
        worker.group.all_reduce(total)
        np.copyto(buffers, total[:-1] / total[-1])
