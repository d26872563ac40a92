"""Builder of a GraphConf, step by step."""

from typing import Any

from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.networks.graph import GraphConf, Vertex


class GraphBuilder:
    """Collects vertices; each `add` returns the new one's name, for others to read.

    Parameters
    ----------
    inputs : shape of one example of each input, by name

    Examples
    --------
    >>> from sparkdl.nn import Dense, ElementWise, GraphBuilder, Output
    >>> build = GraphBuilder(features=(4,))
    >>> up = build.add(Dense(units=4, activation="relu"), "features")
    >>> both = build.add(ElementWise(operation="add"), "features", up)
    >>> last = build.add(Output(units=3), both)
    >>> build.conf().parameter_count
    35
    """

    def __init__(self, **inputs: Shape) -> None:
        self.inputs = inputs
        self.vertices: list[Vertex] = []

    def add(
        self, layer: Layer, *sources: str, name: str | None = None, shares: str | None = None
    ) -> str:
        """Adds a layer that reads `sources`, by default what was added last; returns its name."""
        name = name or layer.name or self._automatic(layer)
        sources = sources or (self.last,)
        self.vertices.append(Vertex(name=name, layer=layer, inputs=sources, shares=shares))
        return name

    @property
    def last(self) -> str:
        """The name of what was added last, or of the last input."""
        return self.vertices[-1].name if self.vertices else list(self.inputs)[-1]

    def conf(self, **options: Any) -> GraphConf:
        """Returns the GraphConf, with its other options."""
        return GraphConf(inputs=self.inputs, vertices=self.vertices, **options)

    def _automatic(self, layer: Layer) -> str:
        number = 1 + sum(type(vertex.layer) is type(layer) for vertex in self.vertices)
        return f"{layer.type_name.lower()}_{number}"
