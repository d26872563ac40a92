"""The share of a worker in a data set whose partitions lie in folders of its machine."""

from dataclasses import dataclass

from sparkdl.data.batches.dealing import Dealing
from sparkdl.data.record_store import read_records


@dataclass(frozen=True, kw_only=True)
class StoredShare:
    """Some of the blocks that the records in these folders were dealt into.

    Parameters
    ----------
    dealing : Dealing
    folders : {int: str}
        Of each partition that has records.
    blocks : frozenset of int
    """

    dealing: Dealing
    folders: dict[int, str]
    blocks: frozenset[int]

    def pieces(self):
        """Yields (block, some of its records), until all came.

        Raises
        ------
        LostRecords
            A folder is not there.
        """
        for partition, folder in self.folders.items():
            yield from self.dealing.pieces(partition, read_records(folder), self.blocks)
