"""Pieces in which a vector passes through slots of shared memory, turn by turn."""


class Pieces:
    """Each owner's part of a vector, cut into one piece per turn.

    Parameters
    ----------
    bounds : list of (int, int)
        Start and stop of each owner's part. Parts may be empty.
    step : int
        Numbers per owner and turn.
    """

    def __init__(self, bounds, step):
        self.bounds, self.step = bounds, step
        longest = max(stop - start for start, stop in bounds)
        self.turns = -(-longest // step)

    def of(self, x, owner, turn):
        """Returns a view of the owner's piece of x in a turn; empty beyond the end of its part."""
        start, stop = self.bounds[owner]
        first = start + turn * self.step
        return x[min(first, stop) : min(first + self.step, stop)]

    def room(self, slot, owner, piece):
        """Returns the place of this piece in a slot that holds a piece of each owner."""
        start = owner * self.step
        return slot[start : start + piece.size]


def bounds_of_one(count, owner):
    """Returns bounds in which the last of owner + 1 owners has all numbers."""
    return [(0, 0)] * owner + [(0, count)]
