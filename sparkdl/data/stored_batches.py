"""Batches that a worker evaluates, from partitions stored in folders."""

from dataclasses import dataclass

from sparkdl.data.record_store import read_records


@dataclass(frozen=True, kw_only=True)
class StoredBatches:
    """The batches that one of several workers evaluates, from the folders of the partitions.

    Consecutive batches of a partition go to different workers, as in Team.rank.
    """

    folders: dict[int, str]
    rank: int
    size: int

    def __iter__(self):
        for partition in sorted(self.folders):
            for position, batch in enumerate(read_records(self.folders[partition])):
                if (partition + position) % self.size == self.rank:
                    yield batch
