"""Minibatches of a block, and the time spent waiting for them."""

import time

from sparkdl.training.inputs.minibatch import prepare_minibatch


def minibatches(block, order, size, transform, conf):
    """Yields prepared minibatches of the block in this order; the last one may be smaller."""
    for start in range(0, len(order), size):
        yield prepare_minibatch(block.take(order[start : start + size]), transform, conf)


def records(part, size):
    """Returns the slice of records that the minibatches of a RoundPart or Round cover."""
    return slice(part.start * size, None if part.stop is None else part.stop * size)


def time_items(iterator):
    """Yields (item, seconds waited for it)."""
    while True:
        start = time.perf_counter()
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item, time.perf_counter() - start
