"""Collectives of a group through shared memory and, across machines, over sockets."""

import numpy as np

from sparkdl.exchange.levels.packing import pack_parts, unpack_parts
from sparkdl.exchange.shared.pieces import bounds_of_one, equal_bounds
from sparkdl.exchange.shared.single_member import SingleMember

NOTHING = np.empty(0, np.uint8)
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
        places = {r: (m, place) for m, own in enumerate(machines) for place, r in enumerate(own)}
        self._places, (self._machine, self._place) = places, places[rank]
        lanes = memory.lanes if memory is not None else [SingleMember()]
        self._one, self._two = lanes[0], lanes[-1]
        self._speakers = min(map(len, machines))

    def all_reduce(self, x, op, beside=False):
        """Replaces x by its sum over all ranks. With `beside`, other calls are made meanwhile."""
        if self.one_machine:
            return self._one.all_reduce(x, op)
        bounds = equal_bounds(len(x), self._speakers if x.nbytes > SHARED_OUT else 1)
        self._one.reduce_scatter(x, bounds, op)
        mine = x[slice(*bounds[self._place])] if self._place < len(bounds) else None
        between = self._begin(mine is not None, "all_reduce", beside, mine, op)
        yield
        between()
        self._two.all_gather(x, bounds)
        return None

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""
        machine, place = self._places[root]
        if self._machine == machine:
            self._one.all_gather(as_bytes(x), bounds_of_one(x.nbytes, place))
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.broadcast(x, machine)
        if self._machine != machine:
            self._two.all_gather(as_bytes(x), bounds_of_one(x.nbytes, 0))

    def barrier(self):
        """Comes to the end when all ranks have come here."""
        self._one.barrier()
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.barrier()
        self._two.barrier()

    def all_gather_bytes(self, data, beside=False):
        """Gathers [bytes of each rank]."""
        own = self._one.all_gather_bytes(np.frombuffer(data, np.uint8))
        if self.one_machine:
            return own
        between = self._begin(self._place == 0, "all_gather_bytes", beside, pack_parts(own))
        yield
        told = between()
        shown = pack_parts(told) if told is not None else NOTHING
        machines, found = unpack_parts(self._two.all_gather_bytes(shown)[0]), {}
        for ranks, data in zip(self._machines, machines, strict=True):
            found.update(zip(ranks, unpack_parts(data), strict=True))
        return [found[rank] for rank in sorted(found)]

    def reduce_scatter(self, x, op):
        """Replaces each rank's part of x by its sum over all ranks. On one machine only."""
        self._one.reduce_scatter(x, equal_bounds(len(x), self._speakers), op)
        yield from ()

    def all_gather(self, x):
        """Fills x, of which each rank has its part. On one machine only."""
        bounds = equal_bounds(len(x), self._speakers)
        self._one.all_gather(as_bytes(x), [(a * x.itemsize, b * x.itemsize) for a, b in bounds])
        yield from ()

    def _begin(self, takes_part, name, beside, *arguments):
        """Lets `between` begin a call, or makes it; returns a function that returns its result."""
        if not takes_part:
            return lambda: None
        if beside:
            return getattr(self._between, f"start_{name}")(*arguments).wait
        result = getattr(self._between, name)(*arguments)
        return lambda: result


def as_bytes(x):
    return x.view(np.uint8)
