"""Assignment of records to blocks for a whole fit; a worker trains on one block per round.

There are two ways. *Within partitions*: each partition is shuffled in windows and cut into blocks,
so its last block may be short. *Scattered*: each record of the data set goes to a random block, so
all blocks but one are full, at the cost of a full shuffle.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.blocks import blocks, permutation
from sparkdl.errors import DataError, require

WAYS = ("always", "uneven", "never")
WINDOW_BYTES = 64 << 20
SHORT_SHARE = 1.1  # scatter if blocks within partitions exceed the fewest possible by this factor


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """The assignment of a data set's records to blocks.

    Parameters
    ----------
    counts : tuple of int
        Number of records in each partition.
    size : int
        Number of records in a full block.
    scatter : bool
        Whether to scatter over the whole data set, instead of cutting within partitions.
    window : int
        Number of records shuffled together within a partition, a multiple of `size`.
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
        """Number of records in each block."""
        if self.scatter:
            return cut(sum(self.counts), self.size)
        return [size for count in self.counts for size in cut(count, self.size)]

    @cached_property
    def _starts(self):
        """Position of each partition's first record in the data set."""
        return [0, *accumulate(self.counts)]

    @cached_property
    def _first_blocks(self):
        """Number of each partition's first block, if blocks are cut within partitions."""
        return [0, *accumulate(-(-count // self.size) for count in self.counts)]

    def pieces(self, partition, batches, wanted=None):
        """Yields (block, records) for the batches of a partition, in the partition's order.

        Parameters
        ----------
        wanted : set of int, optional
            The blocks to yield; None: all.

        Raises
        ------
        DataError
            If the number of records differs from the count.
        """
        batches = check_count(batches, partition, self.counts[partition])
        if self.scatter:
            return self._shuffle(batches, self._starts[partition], wanted)
        return self._cut(batches, partition, self._first_blocks[partition], wanted)

    def owners(self, partition):
        """Returns the block of each record of a partition, (count,), when records are scattered."""
        start = self._starts[partition]
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
    """Yields the batches; raises DataError unless they have `count` records in all."""
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
    """Joins the pieces of a block in an order that does not depend on theirs."""
    block = Batch.concat(pieces)
    return block.take(np.argsort(block.ids, kind="stable"))


def deal(counts, nbytes, size, workers, repartition, seed):
    """Returns the Dealing for partitions of `counts` records and `nbytes` in total.

    Parameters
    ----------
    size : int
        Number of records that a worker trains on per round.
    workers : int
        Blocks are made smaller if there would be fewer blocks than workers.
    repartition : "always", "uneven" or "never"
        Whether to scatter: always, only if partitions are so small or uneven that many blocks would
        be short, or never.
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
    """Returns the places of `positions` after a seeded shuffle of `total` records.

    A Feistel network permutes the smallest power of four that is at least `total`. Results outside
    `total` go through it again (cycle walking), which leaves a permutation of `total` records.

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
    """Mixes bits: each bit of the result depends on all of x.

    From SplitMix (Steele, Lea and Flood, 2014).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
