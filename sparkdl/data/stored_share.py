"""Share of a worker in a data set whose partitions are stored in folders of its machine."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data.batches.dealing import Dealing, assemble_block
from sparkdl.data.batches.random_access import RandomAccess
from sparkdl.data.record_store import read_records


@dataclass(frozen=True, kw_only=True)
class StoredShare:
    """Some of the blocks into which the records of these folders are dealt.

    Parameters
    ----------
    dealing : Dealing
    folders : {int: str}
        Folder of each partition with records.
    numbers : frozenset of int
        Numbers of the blocks.
    """

    dealing: Dealing
    folders: dict[int, str]
    numbers: frozenset[int]

    def blocks(self):
        """Yields (number, Batch) of each block, with one in memory at a time.

        Raises
        ------
        LostRecords
            If a folder is missing.
        """
        if self.dealing.scatter:
            yield from self._scattered_blocks()
            return
        for partition, folder in self.folders.items():
            yield from self.dealing.pieces(partition, read_records(folder), self.numbers)

    def _scattered_blocks(self):
        partitions = [
            StoredPieces(self.dealing, partition, folder, self.numbers)
            for partition, folder in self.folders.items()
        ]
        for number in sorted(self.numbers):
            pieces = (partition.piece(number) for partition in partitions)
            yield number, assemble_block([piece for piece in pieces if piece is not None])


class StoredPieces:
    """The pieces of scattered blocks in one partition's folder, in random access."""

    def __init__(self, dealing, partition, folder, numbers):
        self._records = RandomAccess(list(read_records(folder)))
        owners = dealing.owners(partition)
        rows = np.flatnonzero(np.isin(owners, list(numbers)))
        self._rows = rows[np.argsort(owners[rows], kind="stable")]
        self._owners = owners[self._rows]

    def piece(self, number):
        """Returns the partition's records of a block, or None if it has none."""
        start, stop = np.searchsorted(self._owners, [number, number + 1])
        return self._records.take(self._rows[start:stop]) if stop > start else None
