"""Workers that train together in a barrier stage: their ranks and their shares."""

from dataclasses import dataclass
from typing import NamedTuple


class WorkerRank(NamedTuple):
    """Rank of a worker, and the number of those that train together."""

    rank: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Team:
    """Workers of a barrier stage, whose ranks go through its tasks one after the other.

    Parameters
    ----------
    owners : {int: int}
        The rank that each block goes to, by the block's number.
    size, workers_per_task : int
        Workers in all, and in a task; the last task may have fewer.
    """

    owners: dict[int, int]
    size: int
    workers_per_task: int = 1

    @classmethod
    def of(cls, shares, workers_per_task):
        """Makes a team of workers whose blocks have these numbers."""
        owners = {number: rank for rank, share in enumerate(shares) for number in share}
        return cls(owners=owners, size=len(shares), workers_per_task=workers_per_task)

    @property
    def tasks(self):
        return -(-self.size // self.workers_per_task)

    def ranks(self, task):
        """Returns the ranks of a task."""
        first = self.workers_per_task * task
        return range(first, min(first + self.workers_per_task, self.size))

    def workers(self, task):
        """Returns the WorkerRank of each worker of a task."""
        return [WorkerRank(rank, self.size) for rank in self.ranks(task)]

    def rank(self, key):
        """Returns the rank that an item goes to; neighbors in a partition of validation part."""
        return sum(key) % self.size if isinstance(key, tuple) else self.owners[key]

    def task(self, key):
        return self.rank(key) // self.workers_per_task
