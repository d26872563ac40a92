"""A replica that keeps and updates a part of its parameters; others have the rest."""

from functools import lru_cache, partial

import numpy as np

from sparkdl.nn.execution.paged_vector import PagedVector
from sparkdl.nn.execution.replica import Replica, compile_update
from sparkdl.nn.optimization.network_part import NetworkPart
from sparkdl.nn.optimization.update import update_params


class ShardedReplica(Replica):
    """A Replica whose optimizer moves one part of the parameters, and has slots for no others.

    `params` and `grad` have the length of the network; what they hold is up to the caller, who
    gathers and sums them. `apply` reads `own_grad` and updates `own_params` and `slots`, which are
    as long as the part, and leaves `params` and `grad` alone.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    part : VectorPart
        Of the parameter vector.
    params, slots : float32 vectors
        Those of the part, which become this replica's.
    buffers : float32 vector
        All of them; copied.
    backend : str
    paged : tuple of str
        Which of "params" and "grad" have memory only where the caller acquires it.

    Attributes
    ----------
    pages : {name: PagedVector}
        Of the paged ones.
    """

    def __init__(self, conf, part, params, slots, buffers, backend="auto", paged=()):
        size = conf.params_layout.size
        self.part, self.pages = part, {name: PagedVector(size) for name in paged}
        self.own_params, self.own_grad = params, np.zeros(part.size, np.float32)
        self._start = {"buffers": buffers.copy(), "slots": slots}
        super().__init__(conf, backend)
        self._update = lru_cache(1)(partial(part_update_program, self))

    def _first_values(self):
        size, values = self.conf.params_layout.size, dict(self._start)
        for name in ("params", "grad"):
            paged = name in self.pages
            values[name] = self.pages[name].values if paged else np.zeros(size, np.float32)
        return values

    @property
    def kept_params(self):
        """The parameters that this replica answers for: its part."""
        return self.own_params

    def apply(self, rate, t):
        """Updates `own_params` and `slots` once with `own_grad`; see Replica.apply."""
        if self.part.size:
            super().apply(rate, t)

    def _hooks(self, program, after):
        """Returns what `after`, a function of the program, returns; see Replica.gradient."""
        return after(program) if callable(after) else super()._hooks(program, after)


def part_update_program(replica):
    """Returns the program of the optimizer over the replica's part, in place."""
    network = NetworkPart(replica.conf, replica.part)
    vectors = {"params": replica.own_params, "grad": replica.own_grad}
    slots = network.slots_layout.views(replica.slots)
    return compile_update(replica, partial(update_params, network), vectors, slots)
