"""The batches that a worker evaluates, of a data set whose partitions lie in folders."""

from dataclasses import dataclass

from sparkdl.data.record_store import read_records


@dataclass(frozen=True, kw_only=True)
class StoredBatches:
    """The batches that one worker of several evaluates, by the folders of partitions.

    Neighbors in a partition go to different workers, as Team.rank has it.
    """

    folders: dict[int, str]
    rank: int
    size: int

    def __iter__(self):
        for partition in sorted(self.folders):
            for position, batch in enumerate(read_records(self.folders[partition])):
                if (partition + position) % self.size == self.rank:
                    yield batch
