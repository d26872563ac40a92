"""Workers that train together in a barrier stage: their ranks and their shares."""

from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """The place of a worker among those that train together."""

    rank: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Team:
    """Workers of a barrier stage, whose ranks go through its tasks one after the other.

    Parameters
    ----------
    owners : {int: int}
        The rank that each block goes to, by the block's number.
    size, each : int
        Workers in all, and in a task; the last task may have fewer.
    """

    owners: dict[int, int]
    size: int
    each: int = 1

    @classmethod
    def of(cls, shares, each):
        """Makes a team of workers whose blocks have these numbers."""
        owners = {number: rank for rank, share in enumerate(shares) for number in share}
        return cls(owners=owners, size=len(shares), each=each)

    @property
    def tasks(self):
        return -(-self.size // self.each)

    def ranks(self, task):
        """Returns the ranks of a task."""
        return range(self.each * task, min(self.each * (task + 1), self.size))

    def places(self, task):
        """Returns the Places of a task's workers."""
        return [Place(rank, self.size) for rank in self.ranks(task)]

    def rank(self, key):
        """Returns the rank that an item goes to; neighbors in a partition of validation part."""
        return sum(key) % self.size if isinstance(key, tuple) else self.owners[key]

    def task(self, key):
        return self.rank(key) // self.each
