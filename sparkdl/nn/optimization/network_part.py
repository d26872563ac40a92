"""A part of a network's parameters that can be updated without the rest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sparkdl.errors import ConfigError
from sparkdl.nn.hints import Shapes
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimization.loss_scale import FLOAT16
from sparkdl.nn.optimization.optimizer_groups import OptimizerGroup, slots_layout
from sparkdl.nn.optimization.parameter_options import arrays, constraints_of
from sparkdl.nn.optimization.vector_part import VectorPart

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf


class ArrayParts(NamedTuple):
    """A layer, and the sizes of its parameters within the part: {name: (numbers,)}."""

    layer: Any
    param_shapes: Shapes


class NetworkPart:
    """What `update_params` reads of a network, restricted to some of its parameters.

    Parameters
    ----------
    network : NetworkConf or GraphConf
    part : VectorPart
        The part of the parameter vector.
    """

    def __init__(self, network: "Conf", part: VectorPart) -> None:
        self.optimizer, self.clipping = network.optimizer, network.clipping
        self.constraints = network.constraints
        slices = network.params_layout.slices
        sizes = {name: length(part.local(where)) for name, where in slices.items()}
        self.stack = tuple(
            ArrayParts(p.layer, {n: (sizes[f"{p.name}/{n}"],) for n in p.param_shapes})
            for p in network.stack
        )
        self.params_layout = Layout(tuple((name, (size,)) for name, size in sizes.items()))
        self.groups = tuple(group_part(group, part) for group in network.groups)
        self.slots_layout = slots_layout(self.groups)


def group_part(group: OptimizerGroup, part: VectorPart) -> OptimizerGroup:
    """Returns an OptimizerGroup of the group's numbers within the part."""
    where = part.local(group.part)
    layout = Layout((("part", (length(where),)),))
    return OptimizerGroup(group.optimizer, where, layout, group.slots)


def length(part: slice) -> int:
    return part.stop - part.start


def slots_part(network: "Conf", part: VectorPart) -> VectorPart:
    """Returns the part of the slot vector for a part of the parameter vector."""
    slices, found = network.slots_layout.slices, []
    for group in network.groups:
        for name in group.slots.values():
            found += part.moved(group.part, slices[name].start).slices
    return VectorPart(tuple(found))


def check_parts(network: "Conf", owner: str) -> None:
    """Raises ConfigError unless each number can be updated independently of the others.

    `owner` is the option that requires it.
    """
    for what in whole_vector_members(network):
        raise ConfigError(
            f"{owner} must be None with {what}, which needs more of the vector than a worker has; "
            "leave it out, or use an elementwise one"
        )


def whole_vector_members(network: "Conf") -> Iterator[str]:
    """Yields descriptions of the settings whose update needs more than single numbers."""
    if network.dtype == FLOAT16:
        yield "dtype 'float16' (its loss scale)"
    for group in network.groups:
        if not group.optimizer.elementwise:
            yield f"optimizer {type(group.optimizer).__name__}"
    if network.clipping is not None and not network.clipping.elementwise:
        yield f"clipping {type(network.clipping).__name__}"
    for layer, name, _ in arrays(network):
        for constraint in constraints_of(network, layer, name):
            if not constraint.elementwise:
                yield f"constraint {type(constraint).__name__}"
