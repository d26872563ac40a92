"""A section of a network: adjacent layers whose parameters can be updated separately."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl.nn.clipping import ClipNorm
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layout import Layout
from sparkdl.nn.networks.base import entries
from sparkdl.nn.optimization.optimizer_groups import optimizer_groups, rate_at
from sparkdl.nn.optimization.update import update_params

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.nn.networks.placement import PlacedLayer


class Section:
    """A network of these layers alone, as far as `update_params` is concerned.

    Parameters
    ----------
    network : Conf
    stack : tuple of PlacedLayer
        Adjacent layers of the network's stack.
    start : int
        Offset of their parameters in the network's vector.
    """

    def __init__(self, network: "Conf", stack: "tuple[PlacedLayer, ...]", start: int) -> None:
        self.stack, self.optimizer = stack, network.optimizer
        self.clipping, self.constraints = network.clipping, network.constraints
        self.params_layout = Layout(entries(stack, "param_shapes"))
        self.part = slice(start, start + self.params_layout.size)
        self._network = network

    @cached_property
    def groups(self) -> Any:
        """See Conf.groups."""
        return optimizer_groups(self)

    def rate_at(self, iteration: float, epoch: float) -> float:
        """Returns the learning rate; see Conf.rate_at."""
        return rate_at(self.groups, iteration, epoch)

    def slots_in(self, vector: Value) -> Values:
        """Returns {slot: view of the network's slot vector}, as taken by `update`."""
        return {name: vector[place] for name, place in self._slot_places()}

    def update(
        self, params: Value, grad: Value, slots: Values, rate: Value, t: Value
    ) -> tuple[Value, Values]:
        """Returns the parameters (n,) and {slot: vector} after one update; new arrays.

        Parameters
        ----------
        params, grad : float32 (n,)
            Those of these layers.
        slots : {slot: float32 (n,)}
        rate : float, or float32 (groups,)
            From `rate_at`.
        t : int
            Number of the update, from 1.
        """
        return update_params(self, params, grad, slots, np.asarray(rate, np.float32), np.float32(t))

    def _slot_places(self) -> Iterator[tuple[str, slice]]:
        layout = self._network.slots_layout
        for group in self.groups:
            start, stop = self.part.start + group.part.start, self.part.start + group.part.stop
            for full_group in self._network.groups:
                if full_group.part.start <= start and stop <= full_group.part.stop and start < stop:
                    for name, own in group.slots.items():
                        begin = layout.slices[full_group.slots[name]].start - full_group.part.start
                        yield own, slice(begin + start, begin + stop)


def sections(network: "Conf", limit: int) -> "list[Section]":
    """Splits the network into at most `limit` Sections of similar numbers of parameters.

    A network whose whole gradient is clipped by norm is a single section.
    """
    if isinstance(network.clipping, ClipNorm):
        limit = 1
    parts: list[Section] = []
    total, stack, start, end = network.params_layout.size, [], 0, 0
    for place in network.stack:
        stack.append(place)
        end += Layout(entries((place,), "param_shapes")).size
        if end > start and end * limit >= total * (len(parts) + 1):
            parts.append(Section(network, tuple(stack), start))
            stack, start = [], end
    return parts
