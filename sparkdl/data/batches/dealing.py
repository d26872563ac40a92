"""Assignment of records to blocks, fixed for a whole fit; a worker trains one block in a round.

Two ways. *Within partitions*: each partition is shuffled in windows and cut, so a partition's last
block may be short. *Scattered*: every record goes to a block at random over the whole data set, so
all blocks but one are full; each record travels by itself, so it costs a real shuffle.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.blocks import blocks, permutation
from sparkdl.errors import DataError, require

WAYS = ("always", "uneven", "never")
WINDOW_BYTES = 64 << 20
SHORT_SHARE = 1.1  # within partitions, unless that makes more blocks than this times the fewest


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """The assignment of a data set's records to blocks.

    Parameters
    ----------
    counts : tuple of int
        Records of each partition.
    size : int
        Records of a full block.
    scatter : bool
        Over the whole data set, or within partitions.
    window : int
        Records that are shuffled together within a partition, a multiple of `size`.
    seed : int
    """

    counts: tuple[int, ...]
    size: int
    scatter: bool
    window: int
    seed: int

    def __post_init__(self):
        require(self, "size", self.size >= 1, "at least 1 record")
        require(self, "counts", sum(self.counts) > 0, "records", "the data set is empty")

    @cached_property
    def sizes(self):
        """Records of each block."""
        if self.scatter:
            return cut(sum(self.counts), self.size)
        return [size for count in self.counts for size in cut(count, self.size)]

    def pieces(self, partition, batches, wanted=None):
        """Returns (block, its records) for the batches of a partition, in the partition's order.

        Parameters
        ----------
        wanted : set of int, optional
            The blocks to give; all of them if None.

        Raises
        ------
        DataError
            If they are not as many records as were counted.
        """
        batches = check_count(batches, partition, self.counts[partition])
        start = sum(self.counts[:partition])
        if self.scatter:
            return self._shuffle(batches, start, wanted)
        first = sum(-(-count // self.size) for count in self.counts[:partition])
        return self._cut(batches, partition, first, wanted)

    def owners(self, partition):
        """Returns the block (count,) of each record of a partition, scattered ones alone."""
        start = sum(self.counts[:partition])
        positions = np.arange(start, start + self.counts[partition])
        return shuffle_positions(positions, sum(self.counts), self.seed) // self.size

    def _cut(self, batches, partition, block, wanted):
        for number, window in enumerate(blocks(batches, self.window)):
            order = permutation(self.seed, partition, number, n=len(window))
            for begin in range(0, len(window), self.size):
                if wanted is None or block in wanted:
                    yield block, window.take(order[begin : begin + self.size])
                block += 1

    def _shuffle(self, batches, start, wanted):
        total = sum(self.counts)
        for window in blocks(batches, self.window):
            places = shuffle_positions(np.arange(start, start + len(window)), total, self.seed)
            start += len(window)
            order = np.argsort(places, kind="stable")
            owners = places[order] // self.size
            for part in np.split(order, np.flatnonzero(np.diff(owners)) + 1):
                block = int(places[part[0]] // self.size)
                if wanted is None or block in wanted:
                    yield block, window.take(part)


def check_count(batches, partition, count):
    """Yields the batches, if they hold `count` records."""
    actual = 0
    for batch in batches:
        actual += len(batch)
        if actual > count:
            break
        yield batch
    if actual != count:
        raise DataError(
            f"partition {partition}: {count} records were counted, then there were {actual}; "
            "the data must not change during a fit"
        )


def assemble_block(pieces):
    """Returns the block made of its pieces, in an order that does not depend on theirs."""
    block = Batch.concat(pieces)
    return block.take(np.argsort(block.ids, kind="stable"))


def deal(counts, nbytes, size, workers, repartition, seed):
    """Returns the Dealing for partitions of `counts` records and `nbytes` in all.

    Parameters
    ----------
    size : int
        Records that a worker trains on in a round.
    workers : int
        Blocks are made smaller where there would be fewer of them than workers.
    repartition : "always", "uneven" or "never"
        Scatter; or only where partitions are so small or uneven that many blocks would be
        short; or not.
    """
    total = sum(counts)
    size = max(1, min(size, -(-total // workers)))
    fewest = -(-total // size)
    short = sum(-(-count // size) for count in counts) > max(SHORT_SHARE * fewest, fewest + 1)
    scatter = repartition == "always" or (repartition == "uneven" and short)
    windows = max(1, WINDOW_BYTES * total // max(nbytes, 1) // size)
    options = {"size": size, "scatter": scatter, "window": size * min(windows, 64), "seed": seed}
    return Dealing(counts=tuple(counts), **options)


def cut(count, size):
    return [min(size, count - start) for start in range(0, count, size)]


def shuffle_positions(positions, total, seed):
    """Returns where a seeded shuffle of `total` records puts those at `positions`.

    A Feistel network permutes the smallest square power of two that holds all; what falls outside
    `total` goes through again, which leaves a permutation of the rest.

    References
    ----------
    Black and Rogaway, Ciphers with arbitrary finite domains (2002), cycle walking and Feistel.
    """
    half = np.uint64(max(1, (int(total - 1).bit_length() + 1) // 2))
    keys = np.random.Philox(key=seed).random_raw(4)
    places = feistel(np.asarray(positions, np.uint64), half, keys)
    while (outside := places >= total).any():
        places[outside] = feistel(places[outside], half, keys)
    return places.astype(np.int64)


def feistel(values, half, keys):
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (mix_bits(right + key) & mask)
    return (left << half) | right


def mix_bits(x):
    """Mixes bits: each of the result depends on all of x (Steele, Lea, Flood, SplitMix, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
