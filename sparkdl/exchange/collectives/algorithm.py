"""Selection of the faster all-reduce for the length of a vector."""

from sparkdl.exchange.collectives import doubling, ring

# Bytes up to which having few steps matters more than dividing the sums among ranks.
DOUBLING = 128 << 10


def is_short(nbytes):
    """Returns whether a vector of `nbytes` is summed by recursive doubling, and in its order."""
    return nbytes <= DOUBLING


def all_reduce_for(nbytes, size):
    """Returns the all-reduce steps(call, x, reduce) to use, the same on all ranks."""
    return doubling.all_reduce if is_short(nbytes) or size == 1 else ring.all_reduce
