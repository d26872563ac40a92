"""Pieces in which a vector goes through slots of shared memory, turn by turn."""

from itertools import pairwise

from sparkdl.exchange.collectives.pieces import cuts


class Pieces:
    """Each owner's part of a vector, cut into one piece a turn.

    Parameters
    ----------
    bounds : list of (int, int)
        Start and stop of each owner's part. Parts may be empty.
    step : int
        Numbers of an owner that one turn takes.
    """

    def __init__(self, bounds, step):
        self.bounds, self.step = bounds, step
        longest = max(stop - start for start, stop in bounds)
        self.turns = -(-longest // step)

    def of(self, x, owner, turn):
        """Returns the owner's piece of x in that turn, a view, empty after the part's end."""
        start, stop = self.bounds[owner]
        first = start + turn * self.step
        return x[min(first, stop) : min(first + self.step, stop)]

    def room(self, slot, owner, piece):
        """Returns the room of this piece in a slot that holds a piece of each owner."""
        start = owner * self.step
        return slot[start : start + piece.size]


def equal_bounds(count, parts):
    """Returns start and stop of `parts` parts of `count` numbers, which differ by one at most."""
    return list(pairwise(cuts(count, parts)))


def bounds_of_one(count, owner):
    """Returns bounds where all numbers are those of one owner, the last that is mentioned."""
    return [(0, 0)] * owner + [(0, count)]
