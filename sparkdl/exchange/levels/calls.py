"""Collectives through shared memory and, across machines, over sockets."""

import numpy as np

from sparkdl.exchange.collectives.pieces import equal_bounds
from sparkdl.exchange.levels.packing import pack_parts, unpack_parts
from sparkdl.exchange.shared.pieces import bounds_of_one
from sparkdl.exchange.shared.single_member import SingleMember

EMPTY = np.empty(0, np.uint8)
SHARED_OUT = 64 * 1024  # bytes beyond which several members per machine talk to other machines


class Calls:
    """The collectives of a Group as generators for a CallOrder; vectors are flat.

    On several machines, the first members of each (as many as the smallest machine has) divide a
    vector into slices. Each sums its slice over its machine in shared memory, then over sockets
    with the members at the same position on the other machines, and shares the sum with its
    machine.

    Parameters
    ----------
    rank : int
        Rank of this process.
    machines : list of list of int
        Ranks on each machine.
    memory : SharedMemory or None
        None if this rank is alone on its machine.
    between : Group or None
        The ranks at the same position on each machine; None if there is only one machine.
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
        """Replaces x by its sum over all ranks; with `background`, other calls may overlap."""
        if self.one_machine:
            return self._first_lane.all_reduce(x, op)
        bounds = equal_bounds(len(x), self._leaders if x.nbytes > SHARED_OUT else 1)
        self._first_lane.reduce_scatter(x, bounds, op)
        own_slice = x[slice(*bounds[self._place])] if self._place < len(bounds) else None
        between = self._begin(own_slice, op, background)
        yield
        between()
        self._second_lane.all_gather(x, bounds)
        return None

    def broadcast(self, x, root):
        """Replaces x by that of rank `root`."""
        machine, place = self._places[root]
        if self._machine == machine:
            self._first_lane.all_gather(as_bytes(x), bounds_of_one(x.nbytes, place), str(x.dtype))
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.broadcast(x, machine)
        if self._machine != machine:
            self._second_lane.all_gather(as_bytes(x), bounds_of_one(x.nbytes, 0), str(x.dtype))

    def barrier(self):
        """Ends once all ranks have reached it."""
        self._first_lane.barrier()
        if self.one_machine:
            return
        yield
        if self._place == 0:
            self._between.barrier()
        self._second_lane.barrier()

    def all_gather_bytes(self, data):
        """Gathers the bytes of each rank, as uint8 arrays by rank."""
        local = self._first_lane.all_gather_bytes(np.frombuffer(data, np.uint8))
        if self.one_machine:
            return local
        shared = EMPTY
        if self._place == 0:
            shared = pack_parts(self._between.all_gather_bytes(pack_parts(local)))
        yield
        machines, by_rank = unpack_parts(self._second_lane.all_gather_bytes(shared)[0]), {}
        for ranks, data in zip(self._machines, machines, strict=True):
            by_rank.update(zip(ranks, unpack_parts(data), strict=True))
        return [by_rank[rank] for rank in sorted(by_rank)]

    def reduce_scatter(self, x, op):
        """Replaces each rank's part of x by its sum over all ranks; for one machine only."""
        self._first_lane.reduce_scatter(x, equal_bounds(len(x), self._leaders), op)
        yield from ()

    def all_gather(self, x):
        """Fills x, of which each rank has its part; for one machine only."""
        bounds = equal_bounds(len(x), self._leaders)
        in_bytes = [(start * x.itemsize, stop * x.itemsize) for start, stop in bounds]
        self._first_lane.all_gather(as_bytes(x), in_bytes, str(x.dtype))
        yield from ()

    def _begin(self, own_slice, op, background):
        """Starts or makes the sum over machines of this rank's slice; returns what waits for it."""
        if own_slice is not None and background:
            return self._between.start_all_reduce(own_slice, op).wait
        if own_slice is not None:
            self._between.all_reduce(own_slice, op)
        return lambda: None


def as_bytes(x):
    return x.view(np.uint8)
