"""A pipeline stage: adjacent layers of a network, computed by one worker."""

from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

from sparkdl.nn.hints import Shapes
from sparkdl.nn.networks.base import entries
from sparkdl.nn.networks.section import Section

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.nn.networks.placement import PlacedLayer


class Stage:
    """A network of these layers alone, as far as `forward` is concerned.

    Parameters
    ----------
    network : Conf
    start, stop : int
        Positions in the network's stack.

    Attributes
    ----------
    stack : tuple of PlacedLayer
    section : Section
        Its parameters, for updates.
    reads, gives : tuple of str
        Names of the values received from the stage before and passed to the next one, in network
        order. Values that only later stages read are passed through.
    """

    def __init__(self, network: "Conf", start: int, stop: int) -> None:
        self.network, self.start, self.stop = network, start, stop
        self.stack = network.stack[start:stop]
        self.seed, self.dtype = network.seed, network.dtype
        self.section = Section(network, self.stack, starts_of(network)[start])
        self.reads, self.gives = crossing_values(network, start), crossing_values(network, stop)

    @cached_property
    def input_shapes(self) -> Shapes:
        """{name: shape of one example} of the values that it reads."""
        shapes = dict(self.network.input_shapes)
        shapes |= {place.name: place.out_shape for place in self.network.stack}
        return {name: shapes[name] for name in self.reads}

    @cached_property
    def outputs(self) -> "tuple[PlacedLayer, ...]":
        """The outputs of the network that are part of this stage."""
        return tuple(place for place in self.stack if place.is_output)

    @cached_property
    def outputs_with_labels(self) -> "tuple[PlacedLayer, ...]":
        """Its outputs for which the data has labels."""
        return tuple(place for place in self.outputs if place.layer.reads_labels)

    def label_column(self, place: "PlacedLayer") -> Any:
        """See Conf.label_column."""
        return self.network.label_column(place)

    @cached_property
    def label_columns(self) -> tuple[str, ...]:
        """The batch columns with labels of its outputs."""
        return tuple(dict.fromkeys(map(self.label_column, self.outputs_with_labels)))

    @cached_property
    def state_shapes(self) -> Shapes:
        """The part of Conf.state_shapes for its layers."""
        return dict(entries(self.stack, "state_shapes"))

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """The part of `reads` computed by layers, to which gradients are sent back."""
        return without_inputs(self.network, self.reads)

    @cached_property
    def passed(self) -> tuple[str, ...]:
        """The part of `gives` computed by layers, for which gradients come back."""
        return without_inputs(self.network, self.gives)


def crossing_values(network: "Conf", index: int) -> tuple[str, ...]:
    """Returns the inputs and layers before position `index` that layers from there on read."""
    before = [*network.input_shapes, *(place.name for place in network.stack[:index])]
    wanted = {source for place in network.stack[index:] for source in place.sources}
    return tuple(name for name in before if name in wanted)


def without_inputs(network: "Conf", names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names that are not inputs of the network."""
    return tuple(name for name in names if name not in network.input_shapes)


def starts_of(network: "Conf") -> list[int]:
    """Returns the offset of each layer in the parameter vector, and the total length."""
    return list(accumulate((size_of(place) for place in network.stack), initial=0))


def size_of(place: "PlacedLayer") -> int:
    """Returns the number of parameters that a layer owns."""
    return sum(prod(shape) for shape in place.param_shapes.values())
