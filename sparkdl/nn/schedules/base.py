"""What a schedule is: a learning rate for each update."""

from dataclasses import dataclass

from sparkdl.config import Member
from sparkdl.errors import require
from sparkdl.nn.checks import is_positive

PER = ("iteration", "epoch")


@dataclass(frozen=True, kw_only=True)
class Schedule(Member):
    """Base of all schedules. Iterations and epochs count from 0.

    Parameters
    ----------
    per : str
        What t counts: "iteration" (updates made by a replica) or "epoch".
    """

    per: str = "iteration"

    def __post_init__(self):
        super().__post_init__()
        require(self, "per", self.per in PER, "'iteration' or 'epoch'")

    def rate(self, iteration, epoch):
        """The learning rate of update number `iteration`, which falls in epoch `epoch`."""
        return float(self.at(iteration if self.per == "iteration" else epoch))

    def at(self, t):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Decay(Schedule, abstract=True):
    """A schedule that begins at the rate `initial`."""

    initial: float

    def __post_init__(self):
        super().__post_init__()
        require(self, "initial", is_positive(self.initial), "a number above 0")
