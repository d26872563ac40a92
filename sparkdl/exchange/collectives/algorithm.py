"""Choice of the faster all-reduce for a length of vector."""

from sparkdl.exchange.collectives import doubling, ring

# Bytes up to which few steps matter more than that ranks share the sums.
DOUBLING = 128 << 10


def is_short(nbytes):
    """Returns whether a vector of so many bytes is summed by doubling, and in its order."""
    return nbytes <= DOUBLING


def all_reduce_for(nbytes, size):
    """Returns the steps (call, x, reduce) for vectors of so many bytes; the same on all ranks."""
    return doubling.all_reduce if is_short(nbytes) or size == 1 else ring.all_reduce
