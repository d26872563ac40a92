"""A network as computed by one of several workers that each have a part of its layers."""

from functools import cached_property, lru_cache
from math import prod
from typing import NamedTuple

from sparkdl.nn.execution.split_layers import SPLIT_LAYERS
from sparkdl.nn.layers import ScoredLayer
from sparkdl.nn.layout import Layout
from sparkdl.nn.networks.base import entries
from sparkdl.nn.networks.layer_splits import layer_splits
from sparkdl.nn.networks.placement import PlacedLayer
from sparkdl.nn.optimization.optimizer_groups import optimizer_groups, slots_layout
from sparkdl.nn.optimization.vector_part import VectorPart


class Member(NamedTuple):
    """A worker's position in a group, for callers that only need shapes."""

    rank: int
    size: int


class SplitPlace(PlacedLayer):
    """The position of a SplitLayer."""

    __slots__ = ()

    @property
    def is_output(self):
        return isinstance(self.layer.whole, ScoredLayer)


class SplitNetwork:
    """A network whose layers have one worker's parameters; other attributes are the network's.

    Parameters
    ----------
    whole : NetworkConf or GraphConf
    group : see engine/ops/collective.py
        `rank` and `size` suffice if only shapes are needed.
    """

    def __init__(self, whole, group):
        self.whole, self.group = whole, group
        splits = layer_splits(whole, group.size)
        self.stack = tuple(self._place(place, splits.get(place.name)) for place in whole.stack)
        self.params_layout = Layout(entries(self.stack, "param_shapes"))
        self.groups = optimizer_groups(self)
        self.slots_layout = slots_layout(self.groups)

    def __getattr__(self, name):
        return getattr(self.whole, name)

    def _place(self, place, split):
        if split is None:
            return place
        return SplitPlace(*place._replace(layer=SPLIT_LAYERS[split](place.layer, self.group)))

    @property
    def outputs(self):
        """See Conf.outputs."""
        return tuple(place for place in self.stack if place.is_output)

    @property
    def outputs_with_labels(self):
        """See Conf.outputs_with_labels."""
        return tuple(place for place in self.outputs if place.layer.reads_labels)

    @cached_property
    def part(self):
        """The VectorPart of this worker's parameters in the network's vector."""
        whole = self.whole.params_layout
        pairs = zip(whole.entries, self.params_layout.entries, strict=True)
        found = []
        for (name, shape), (_, own) in pairs:
            start = whole.slices[name].start
            found += stretches(shape, own, self.group.rank, start)
        return VectorPart(tuple(found))

    @cached_property
    def common(self):
        """The VectorPart of this worker's parameters that all workers share."""
        whole, own = dict(self.whole.params_layout.entries), self.params_layout
        alike = (own.slices[name] for name, shape in own.entries if whole[name] == shape)
        return VectorPart(tuple(alike))


@lru_cache(maxsize=4)
def network_parts(conf, size):
    """Returns the VectorPart of each of `size` workers' parameters."""
    return tuple(SplitNetwork(conf, Member(rank, size)).part for rank in range(size))


def stretches(shape, own, rank, start):
    """Yields the slices of a vector that hold a part of the array that begins at `start`.

    The part has the shape `own`, and is number `rank` along the axis where the shapes differ.
    """
    axis = next((i for i, (a, b) in enumerate(zip(shape, own, strict=True)) if a != b), 0)
    period, width = prod(shape[axis:]), prod(own[axis:])
    offset = rank * width * (shape != own)
    for row in range(prod(shape[:axis])):
        begin = start + row * period + offset
        yield slice(begin, begin + width)
