"""A replica that stores and updates a part of its parameters, while others have the rest."""

from contextlib import contextmanager
from functools import lru_cache, partial

import numpy as np

from sparkdl.nn.execution.paged_vector import PagedVector
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.replica_programs import compile_update
from sparkdl.nn.optimization.network_part import NetworkPart
from sparkdl.nn.optimization.update import update_params


class ShardedReplica(Replica):
    """A Replica whose optimizer updates one part of the parameters and has slots for no others.

    `params` and `grad` have the length of the network; the caller gathers and sums their content.
    `apply` reads `own_grad` and updates `own_params` and `slots`, which have the length of the
    part, and leaves `params` and `grad` alone. With `borrows`, `own_grad` has memory only from
    `take_gradient` to the end of `apply` and `own_params` only during `apply`, which then writes to
    `params`.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    part : VectorPart
        The part of the parameter vector.
    params, slots : float32 vectors
        Those of the part, which this replica takes over.
    buffers : float32 vector
        All buffers; copied.
    backend : str
    paged : tuple of str
        Which of "params" and "grad" have memory only while the caller acquires it.
    borrows : bool
        Whether `own_params` is copied from `params`, all of which then stays in memory.

    Attributes
    ----------
    pages : {name: PagedVector}
        Those of the paged vectors.
    """

    def __init__(self, conf, part, params, slots, buffers, backend="auto", paged=(), borrows=False):
        size = conf.params_layout.size
        self.part, self.pages = part, {name: PagedVector(size) for name in paged}
        self.loans = [PagedVector(part.size) for _ in range(2)] if borrows else []
        self._taken = []
        self._start = {"buffers": buffers.copy(), "slots": slots}
        super().__init__(conf, backend)
        if borrows:
            self.own_params, self.own_grad = (loan.values for loan in self.loans)
            part.put(params, self.params)
        else:
            self.own_params, self.own_grad = params, np.zeros(part.size, np.float32)
        self._update = lru_cache(1)(partial(part_update_program, self))

    def _first_values(self):
        size, values = self.conf.params_layout.size, dict(self._start)
        for name in ("params", "grad"):
            paged = name in self.pages
            values[name] = self.pages[name].values if paged else np.zeros(size, np.float32)
        return values

    @property
    def kept_params(self):
        """The parameters that this replica is responsible for: its part."""
        return self.part.take(self.params) if self.loans else self.own_params

    def take_gradient(self, stretch):
        """Copies its part of a slice of `grad` to `own_grad`; the slice is then unused."""
        own = self.part.local(stretch)
        if self.loans:
            self.loans[1].acquire(own)
            self._taken.append(own)
        self.part.moved(stretch, 0).copy(self.grad[stretch], self.own_grad[own])

    def apply(self, rate, t):
        """Applies one update with `own_grad` to `own_params` and `slots`; see Replica.apply."""
        if self.part.size:
            with self._borrowed():
                super().apply(rate, t)

    @contextmanager
    def _borrowed(self):
        """Loads `own_params` for an update, then writes them back and frees both, if borrowed."""
        if not self.loans:
            yield
            return
        everything, (params, grad) = slice(0, self.part.size), self.loans
        try:
            params.acquire(everything)
            try:
                self.part.copy(self.params, self.own_params)
                yield
                self.part.put(self.own_params, self.params)
            finally:
                params.release(everything)
        finally:
            while self._taken:
                grad.release(self._taken.pop())

    def _hooks(self, program, after):
        """Returns the hooks of Replica.gradient; a callable `after` makes them from the program."""
        return after(program) if callable(after) else super()._hooks(program, after)


def part_update_program(replica):
    """Returns the program of an in-place optimizer update of the replica's part."""
    network = NetworkPart(replica.conf, replica.part)
    vectors = {"params": replica.own_params, "grad": replica.own_grad}
    slots = network.slots_layout.views(replica.slots)
    return compile_update(replica, partial(update_params, network), vectors, slots)
