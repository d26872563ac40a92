"""A stage of a pipeline: neighboring layers of a network, which one worker computes."""

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
    """To `forward` it is a network of these layers alone, which reads what earlier ones give.

    Parameters
    ----------
    network : Conf
    start, stop : int
        Places of the network's stack.

    Attributes
    ----------
    stack : tuple of PlacedLayer
    section : Section
        Its parameters, as an update sees them.
    reads, gives : tuple of str
        Names of the inputs and layers whose values it gets from the stage before, and passes to
        the one behind, in the order of the network. What a later stage reads passes through.
    """

    def __init__(self, network: "Conf", start: int, stop: int) -> None:
        self.network, self.start, self.stop = network, start, stop
        self.stack = network.stack[start:stop]
        self.seed, self.dtype = network.seed, network.dtype
        self.section = Section(network, self.stack, starts_of(network)[start])
        self.reads, self.gives = crossing_values(network, start), crossing_values(network, stop)

    @cached_property
    def input_shapes(self) -> Shapes:
        """{name: shape of one example} of what it reads."""
        shapes = dict(self.network.input_shapes)
        shapes |= {place.name: place.out_shape for place in self.network.stack}
        return {name: shapes[name] for name in self.reads}

    @cached_property
    def outputs(self) -> "tuple[PlacedLayer, ...]":
        """The network's outputs that lie in this stage."""
        return tuple(place for place in self.stack if place.is_output)

    @cached_property
    def outputs_with_labels(self) -> "tuple[PlacedLayer, ...]":
        """Those that the data have labels for."""
        return tuple(place for place in self.outputs if place.layer.reads_labels)

    def label_column(self, place: "PlacedLayer") -> Any:
        """As Conf.label_column."""
        return self.network.label_column(place)

    @cached_property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of a batch that hold the labels of its outputs."""
        return tuple(dict.fromkeys(map(self.label_column, self.outputs_with_labels)))

    @cached_property
    def state_shapes(self) -> Shapes:
        """As Conf.state_shapes, of its layers."""
        return dict(entries(self.stack, "state_shapes"))

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """Those of `reads` that layers have given: a gradient goes back to them."""
        return without_inputs(self.network, self.reads)

    @cached_property
    def passed(self) -> tuple[str, ...]:
        """Those of `gives` that layers have given: a gradient comes back for them."""
        return without_inputs(self.network, self.gives)


def crossing_values(network: "Conf", index: int) -> tuple[str, ...]:
    """Returns the inputs and layers before place `index` of the stack that later layers read."""
    before = [*network.input_shapes, *(place.name for place in network.stack[:index])]
    wanted = {source for place in network.stack[index:] for source in place.sources}
    return tuple(name for name in before if name in wanted)


def without_inputs(network: "Conf", names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names that are no inputs of the network."""
    return tuple(name for name in names if name not in network.input_shapes)


def starts_of(network: "Conf") -> list[int]:
    """Returns where in the parameter vector each layer of the stack begins, and where it ends."""
    return list(accumulate((size_of(place) for place in network.stack), initial=0))


def size_of(place: "PlacedLayer") -> int:
    """Returns the number of parameters that a layer owns."""
    return sum(prod(shape) for shape in place.param_shapes.values())
