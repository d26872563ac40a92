"""Search for the arrays that may share memory with another, without comparing all pairs."""

from bisect import bisect_left
from itertools import accumulate

from sparkdl.engine.operands import bounds


class SharedMemory:
    """Arrays sorted by address.

    Parameters
    ----------
    arrays : sequence of ndarray
        Or of device arrays.
    """

    def __init__(self, arrays):
        places = [(*bounds(array), i) for i, array in enumerate(arrays) if array.size]
        self._places = sorted(places)
        self._begins = [begin for begin, _, _ in self._places]
        self._ends = [*accumulate((end for _, end, _ in self._places), max)]

    def sharing(self, array):
        """Returns the indices, in order, of the arrays for which np.may_share_memory is true."""
        if not array.size:
            return []
        begin, end = bounds(array)
        found, at = [], bisect_left(self._begins, end) - 1
        while at >= 0 and self._ends[at] > begin:  # all arrays before this one end too early
            _, stop, index = self._places[at]
            if stop > begin:
                found.append(index)
            at -= 1
        return sorted(found)
