"""Bases of the schedules, which compute the learning rate of each update."""

from bisect import bisect_right
from math import inf
from typing import Any

from sparkdl.config import Choice, Member, Number, dataclass, option
from sparkdl.config.constraints.numbers import LARGEST_FLOAT32
from sparkdl.errors import DivergedError

PER = ("iteration", "epoch")


@dataclass(frozen=True, kw_only=True)
class Schedule(Member):
    """Base of all schedules. Iterations and epochs count from 0."""

    per: str = option(
        Choice(of=PER), "Unit of t: updates made by a replica, or epochs.", default="iteration"
    )

    def rate(self, iteration: float, epoch: float) -> float:
        """Returns the learning rate of update number `iteration`, which falls in epoch `epoch`.

        Raises
        ------
        DivergedError
            If the rate grows beyond the range of float32.
        """
        t = iteration if self.per == "iteration" else epoch
        try:
            rate = float(self.at(t))
        except OverflowError:
            rate = inf
        if rate > LARGEST_FLOAT32:
            kind = type(self).__name__
            raise DivergedError(
                f"{kind} has a rate that is too large for a number at {self.per} {t}; "
                "let it grow less"
            )
        return rate

    def at(self, t: float) -> float:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DecaySchedule(Schedule, abstract=True):
    """A schedule that starts at the rate `initial`."""

    initial: float = option(Number(above=0), "Rate at the beginning.")


def rate_at(rate: float | Schedule, iteration: float, epoch: float) -> float:
    """Returns what `Schedule.rate` does; a number is the rate of all updates."""
    return rate.rate(iteration, epoch) if isinstance(rate, Schedule) else float(rate)


def starts_grow(pieces: Any) -> bool:
    """Returns whether the starts of pairs (start, value) increase strictly from 0."""
    starts = [start for start, _ in pieces]
    return starts[0] == 0 and starts == sorted(set(starts))


def piece_at(pieces: Any, t: float) -> Any:
    """Returns the last pair with a start <= t."""
    return pieces[bisect_right(pieces, t, key=lambda piece: piece[0]) - 1]
