"""The configuration of a network whose layers branch and join."""

import heapq
from collections import Counter
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from sparkdl.config import (
    Config,
    Nested,
    Of,
    Requirement,
    Row,
    Sequence,
    Text,
    dataclass,
    option,
    suggestion,
)
from sparkdl.config.field_types import NamedShapes, Several
from sparkdl.errors import ConfigError, require
from sparkdl.nn.hints import Shapes
from sparkdl.nn.inputs.columns import WEIGHTS
from sparkdl.nn.inputs.example_shape import ExampleShape
from sparkdl.nn.inputs.labels import check_labels
from sparkdl.nn.inputs.tbptt import check_tbptt
from sparkdl.nn.layers import Flatten, Layer
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.placement import PlacedLayer, check_unique, shape_after
from sparkdl.nn.networks.sharing import check_shared, check_training_options
from sparkdl.nn.tables.embedding_bag import EmbeddingBag, check_bags, optimizers_of_tables


@dataclass(frozen=True, kw_only=True)
class Vertex(Config):
    """A layer of a graph, with its name and the names of its inputs."""

    name: str = option(Text(), "Name, unique in the graph.")
    layer: Layer = option(Of(family=Layer), "Layer that it computes.")
    inputs: Several[str] = option(
        Sequence(of=Text(what="a name"), minimum=1),
        "Names of inputs of the graph and of other vertices, or a single name.",
    )
    shares: str | None = option(
        Text(what="a name"),
        "Vertex whose parameters and buffers this one shares; it then has none of its own, and "
        "that vertex's layer says how they are trained: rates, optimizers, penalties, constraints.",
        default=None,
    )

    def __post_init__(self) -> None:
        if isinstance(self.inputs, str):
            object.__setattr__(self, "inputs", (self.inputs,))
        super().__post_init__()

    def validate(self) -> None:
        super().validate()
        fits = len(self.inputs) == 1 or self.layer.multi_input
        kind = type(self.layer).__name__
        require(self, "inputs", fits, f"one name, as {kind} reads one input")
        object.__setattr__(self, "layer", replace(self.layer, name=self.name))

    def to_dict(self) -> dict[str, Any]:
        """Returns the options that differ from their defaults, without the layer's name."""
        return super().to_dict() | {"layer": replace(self.layer, name=None).to_dict()}


@dataclass(frozen=True, kw_only=True)
class InputShapes(Requirement):
    """A mapping of names to shapes, kept as pairs."""

    phrase = f"a mapping of names to shapes {ExampleShape.phrase}"
    plural = f"mappings of names to shapes {ExampleShape.phrase}"

    def check(self, value: Any, where: str) -> Any:
        pairs = list(value.items()) if isinstance(value, dict) else value
        try:
            return NAMED_SHAPES.check(pairs, where)
        except ConfigError:
            self.refuse(value, where)


NAMED_SHAPES = Sequence(of=Row(of=(Text(), ExampleShape())))


@dataclass(frozen=True, kw_only=True)
class GraphConf(Conf):
    """A directed acyclic graph of layers, with one or several inputs and outputs.

    The vertices may be listed in any order. A Flatten is inserted where images meet a layer that
    takes rows. Labels of an output vertex come from the column "labels" if it is the only one, else
    from the column of its name, unless its layer names a column; inputs likewise read "features",
    or the column of their name. Of several outputs, the one with the largest loss weight makes the
    predictions. `bags` are inputs made of table rows.

    Raises
    ------
    ConfigError
        For an option out of its range, a name that is taken or unknown, a cycle.
    ShapeError
        If a layer cannot take what it reads.

    Examples
    --------
    >>> from sparkdl.nn import Dense, ElementWise, GraphConf, Output, Vertex
    >>> conf = GraphConf(inputs={"x": (4,)}, vertices=[
    ...     Vertex(name="up", layer=Dense(units=4, activation="relu"), inputs="x"),
    ...     Vertex(name="sum", layer=ElementWise(operation="add"), inputs=("x", "up")),
    ...     Vertex(name="out", layer=Output(units=3), inputs="sum")])
    >>> conf.parameter_count
    35
    """

    inputs: NamedShapes = option(
        InputShapes(),
        "Shape of one example of each input; may be empty if there are bags.",
        default=(),
    )
    vertices: Several[Vertex] = option(
        Sequence(of=Nested(of=Vertex), minimum=1), "The layers, in any order."
    )
    bags: Several[EmbeddingBag] = option(
        Sequence(of=Nested(of=EmbeddingBag)),
        "Inputs of shape (dimension,), made from ids and table rows.",
        default=(),
    )

    def validate(self) -> None:
        super().validate()
        require(
            self,
            "inputs",
            self.inputs or self.bags,
            "a mapping of at least one name, as there are no bags",
        )
        names = [*self.input_shapes, *(vertex.name for vertex in self.vertices)]
        check_unique([*names, *self._duplicate_inputs()], "names of inputs and vertices")
        _ = self.stack  # validates the graph and its shapes now, not at first use
        self._check_bags()
        check_tbptt(self)
        check_labels(self)

    def _duplicate_inputs(self) -> list[str]:
        given = Counter([name for name, _ in self.inputs] + [bag.name for bag in self.bags])
        return [name for name, times in given.items() if times > 1]

    def _check_bags(self) -> None:
        check_bags(self.bags, self.optimizer)
        if WEIGHTS in self.bag_columns.values():
            raise ConfigError(
                f"EmbeddingBag.name must be another than {WEIGHTS!r}, the column of the weights "
                "of records; rename the bag"
            )
        if self.bags and (self.dtype == "float16" or self.tbptt is not None):
            raise ConfigError(
                "GraphConf.bags must be none where dtype is float16 or tbptt is given, got "
                f"{self.dtype!r} and {self.tbptt}"
            )

    @cached_property
    def stack(self) -> "tuple[PlacedLayer, ...]":
        """The layers in their places, each behind what it reads: a tuple of PlacedLayer."""
        return place_vertices(self)

    @cached_property
    def input_shapes(self) -> Shapes:
        """{name of an input: shape of one example}; bags are inputs, too"""
        return dict(self.inputs) | {bag.name: (bag.dimension,) for bag in self.bags}

    @property
    def replica_class(self) -> Any:
        if not self.bags:
            return None
        return import_module("sparkdl.nn.execution.table_replica").TableReplica

    @cached_property
    def record_shapes(self) -> Shapes:
        own = super().record_shapes
        bags = {*self.bag_columns.values()}
        shapes = {column: shape for column, shape in own.items() if column not in bags}
        shapes |= {self.id_column(bag): (bag.width,) for bag in self.bags}
        return shapes | {bag.weights: (bag.width,) for bag in self.bags if bag.weights}

    @cached_property
    def id_columns(self) -> frozenset[str]:
        return frozenset(self.id_column(bag) for bag in self.bags)

    @cached_property
    def bag_columns(self) -> dict[str, str]:
        """{name of a bag: column that feeds it to a program}"""
        columns = {name: column for column, name in self.feature_columns.items()}
        return {bag.name: columns[bag.name] for bag in self.bags}

    @property
    def tables(self) -> dict[str, Any]:
        """{name of a table: its optimizer}, in the order in which bags name them"""
        return optimizers_of_tables(self.bags, self.optimizer)

    def id_column(self, bag: EmbeddingBag) -> str:
        """Returns the column of the data with a bag's ids: "features" where nothing else is."""
        return bag.column or self.bag_columns[bag.name]

    def rate_at(self, iteration: float, epoch: float) -> Any:
        """Returns the learning rate of an update; with bags a vector, the tables' at its end."""
        own = super().rate_at(iteration, epoch)
        if not self.bags:
            return own
        rates = [optimizer.rate_at(iteration, epoch) for optimizer in self.tables.values()]
        return np.array([*np.atleast_1d(own), *rates], np.float32)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers, each behind what it reads."""
        return tuple(place.layer for place in self.stack)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {
            "inputs": {name: list(shape) for name, shape in self.inputs},
            "vertices": [vertex.to_dict() for vertex in self.vertices],
            **({"bags": [bag.to_dict() for bag in self.bags]} if self.bags else {}),
        }


def place_vertices(graph: "GraphConf") -> "tuple[PlacedLayer, ...]":
    """Returns the placed layers of a GraphConf, each after what it reads."""
    shapes, result = dict(graph.input_shapes), []
    numbers = {vertex.name: index for index, vertex in enumerate(graph.vertices)}
    for vertex in topological_order(graph):
        layer = vertex.layer.inherit(graph)
        sources = vertex.inputs
        if layer.takes_rows and len(shapes[sources[0]]) > 2:
            flat = place_flatten(vertex, sources[0], shapes)
            result.append(flat)
            sources, shapes[flat.name] = (flat.name,), flat.out_shape
        shape = tuple(shapes[s] for s in sources) if layer.multi_input else shapes[sources[0]]
        shapes[vertex.name] = after = shape_after(layer, shape, " and ".join(vertex.inputs))
        owner = vertex.shares or vertex.name
        result.append(PlacedLayer(numbers[vertex.name], layer, sources, shape, after, owner))
    check_shared({place.name: place for place in result})
    check_training_options(graph)
    return tuple(result)


def place_flatten(vertex: "Vertex", source: str, shapes: Shapes) -> "PlacedLayer":
    """Returns the placed Flatten between images and a vertex that takes rows."""
    layer = Flatten(name=f"{vertex.name}/flatten")
    return PlacedLayer(
        -1, layer, (source,), shapes[source], layer.out_shape(shapes[source]), str(layer.name)
    )


def topological_order(graph: "GraphConf") -> "list[Vertex]":
    """Returns the vertices, each after what it reads, otherwise in the given order."""
    check_sources(graph)
    vertices, known = graph.vertices, graph.input_shapes
    unmet = [{name for name in vertex.inputs if name not in known} for vertex in vertices]
    readers: dict[str, list[int]] = {}
    for place, names in enumerate(unmet):
        for name in names:
            readers.setdefault(name, []).append(place)
    ready = [place for place, names in enumerate(unmet) if not names]  # sorted, and so a heap
    order = []
    while ready:
        order.append(vertices[heapq.heappop(ready)])
        for place in readers.get(order[-1].name, ()):
            unmet[place].remove(order[-1].name)
            if not unmet[place]:
                heapq.heappush(ready, place)
    if len(order) < len(vertices):
        circle = ", ".join(v.name for v, names in zip(vertices, unmet, strict=True) if names)
        raise ConfigError(f"GraphConf.vertices must have no cycle, got one among {circle}")
    return order


def check_sources(graph: "GraphConf") -> None:
    """Raises ConfigError for a vertex that reads or shares with an unknown name."""
    names = {*graph.input_shapes, *(vertex.name for vertex in graph.vertices)}
    for vertex in graph.vertices:
        for name in (*vertex.inputs, *([vertex.shares] if vertex.shares else [])):
            if name not in names:
                end = suggestion(name, names, "")
                raise ConfigError(f"{vertex.name} reads {name!r}, which does not exist{end}")
