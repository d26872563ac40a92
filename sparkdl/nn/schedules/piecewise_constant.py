"""Rates that each hold from a given time on."""

from bisect import bisect_right
from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class PiecewiseConstant(Schedule):
    """The rate of the last pair (start, rate) whose start is <= t. DL4J's MapSchedule.

    Parameters
    ----------
    rates : tuple of (int, float)
        When a rate begins to hold, and the rate, above 0: ((0, 0.1), (1000, 0.01)). Starts grow,
        and the first is 0.
    """

    rates: tuple[tuple[int, float], ...]

    def __post_init__(self):
        super().__post_init__()
        must_be = "pairs (start, rate above 0), starts growing from 0"
        require(self, "rates", are_pieces(self.rates), must_be)

    def at(self, t):
        return self.rates[bisect_right(self.rates, t, key=lambda piece: piece[0]) - 1][1]


def are_pieces(rates):
    """Whether `rates` is a tuple of pairs (start, rate) whose starts grow from 0."""
    if not isinstance(rates, tuple) or not all(is_piece(piece) for piece in rates):
        return False
    starts = [start for start, _ in rates]
    return starts[:1] == [0] and starts == sorted(set(starts))


def is_piece(piece):
    """Whether `piece` is (an integer >= 0, a number above 0)."""
    pair = isinstance(piece, tuple) and len(piece) == 2
    return pair and is_integer(piece[0], 0) and is_positive(piece[1])
