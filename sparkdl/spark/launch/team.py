"""Ranks and shares of workers that train together in a barrier stage."""

from dataclasses import dataclass
from typing import NamedTuple


class WorkerRank(NamedTuple):
    """Rank of a worker, and the number of workers that train together."""

    rank: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Team:
    """Workers of a barrier stage, with consecutive ranks within and across its tasks.

    Parameters
    ----------
    owners : {int: int}
        {number of a block: rank of its worker}.
    size, workers_per_task : int
        Workers in total, and per task; the last task may have fewer.
    """

    owners: dict[int, int]
    size: int
    workers_per_task: int = 1

    @classmethod
    def of(cls, shares, workers_per_task):
        """Returns the team of workers whose shares are these block numbers."""
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
        """Returns the rank that an item goes to; adjacent batches of validation data part."""
        return sum(key) % self.size if isinstance(key, tuple) else self.owners[key]

    def task(self, key):
        return self.rank(key) // self.workers_per_task
