"""Collectives of a group through shared memory and, across machines, over sockets."""

import numpy as np

from sparkdl.exchange.levels.packing import pack_parts, unpack_parts
from sparkdl.exchange.shared.pieces import bounds_of_one, equal_bounds
from sparkdl.exchange.shared.single_member import SingleMember

EMPTY = np.empty(0, np.uint8)
SHARED_OUT = 64 * 1024  # bytes from which several members of a machine speak with other machines


class Calls:
    """The calls of a Group as generators for a CallOrder; vectors are flat.

    On several machines the first members of each share a vector out: each sums a slice of it over
    its machine, then over the machines with those in the same place there, and shows its machine
    the sum. As many do so as the smallest machine has.

    Parameters
    ----------
    rank : int
        This one.
    machines : list of list of int
        The ranks of each.
    memory : SharedMemory or None
        None for a rank that is alone on its machine.
    between : Group or None
        The ranks in the same place of each machine; None if there is but one machine.
    """

    def __init__(self, rank, machines, memory, between):
        self.one_machine = between is None
        self._machines, self._between = machines, between
        places = {r: (m, i) for m, ranks in enumerate(machines) for i, r in enumerate(ranks)}
        self._places, (self._machine, self._place) = places, places[rank]
        lanes = memory.lanes if memory is not None else [SingleMember()]
        self._first_lane, self._second_lane = lanes[0], lanes[-1]
        self._leaders = min(map(len, machines))

    def all_reduce(self, x, op, background=False):
        """Replaces x by its sum over all ranks; other calls go on if in `background`."""
        if self.one_machine:
            return self._first_lane.all_reduce(x, op)
        bounds = equal_bounds(len(x), self._leaders if x.nbytes > SHARED_OUT else 1)
        self._first_lane.reduce_scatter(x, bounds, op)
        own_slice = x[slice(*bounds[self._place])] if self._place < len(bounds) else None
        between = self._begin(own_slice is not None, "all_reduce", background, own_slice, op)
        yield
        between()
        self._second_lane.all_gather(x, bounds)
        return None

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""
        machine, place = self._places[root]
        if self._machine == machine:
            self._first_lane.all_gather(as_bytes(x), bounds_of_one(x.nbytes, place))
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.broadcast(x, machine)
        if self._machine != machine:
            self._second_lane.all_gather(as_bytes(x), bounds_of_one(x.nbytes, 0))

    def barrier(self):
        """Comes to the end when all ranks have come here."""
        self._first_lane.barrier()
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.barrier()
        self._second_lane.barrier()

    def all_gather_bytes(self, data, background=False):
        """Gathers [bytes of each rank]."""
        local = self._first_lane.all_gather_bytes(np.frombuffer(data, np.uint8))
        if self.one_machine:
            return local
        between = self._begin(self._place == 0, "all_gather_bytes", background, pack_parts(local))
        yield
        gathered = between()
        shared = pack_parts(gathered) if gathered is not None else EMPTY
        machines, by_rank = unpack_parts(self._second_lane.all_gather_bytes(shared)[0]), {}
        for ranks, data in zip(self._machines, machines, strict=True):
            by_rank.update(zip(ranks, unpack_parts(data), strict=True))
        return [by_rank[rank] for rank in sorted(by_rank)]

    def reduce_scatter(self, x, op):
        """Replaces each rank's part of x by its sum over all ranks. On one machine only."""
        self._first_lane.reduce_scatter(x, equal_bounds(len(x), self._leaders), op)
        yield from ()

    def all_gather(self, x):
        """Fills x, of which each rank has its part. On one machine only."""
        bounds = equal_bounds(len(x), self._leaders)
        in_bytes = [(start * x.itemsize, stop * x.itemsize) for start, stop in bounds]
        self._first_lane.all_gather(as_bytes(x), in_bytes)
        yield from ()

    def _begin(self, takes_part, name, background, *arguments):
        """Lets `between` begin a call, or makes it; returns a function that returns its result."""
        if not takes_part:
            return lambda: None
        if background:
            return getattr(self._between, f"start_{name}")(*arguments).wait
        result = getattr(self._between, name)(*arguments)
        return lambda: result


def as_bytes(x):
    return x.view(np.uint8)
