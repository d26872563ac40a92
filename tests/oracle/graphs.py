"""Random graphs of layers that branch and join, with several inputs and outputs, and sharing."""

from contextlib import suppress

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import GraphConf, Vertex, layers
from sparkdl.nn.layers import ScoredLayer
from tests.oracle.drawing import LARGEST, after_all, fitting, layer_for
from tests.oracle.options import options_of
from tests.oracle.outputs import DRAWN as LOSSES
from tests.oracle.outputs import output_for
from tests.oracle.plain_layers import number, of, one

BATCHWISE = {"Stack"}
ADDING = {"AddedLoss", "Reconstruction"}


class Growing:
    """A graph under construction: its vertices, and the shapes of all names."""

    def __init__(self, inputs):
        self.inputs, self.shapes, self.vertices = dict(inputs), dict(inputs), []
        self.closed = set()

    def add(self, layer, inputs, shape, shares=None):
        name = f"v{len(self.vertices)}"
        self.vertices.append(Vertex(name=name, layer=layer, inputs=inputs, shares=shares))
        self.shapes[name] = shape
        return name

    @property
    def scored(self):
        return {v.name for v in self.vertices if isinstance(v.layer, ScoredLayer)}

    @property
    def open(self):
        """Names that may get another reader."""
        return [name for name in self.shapes if name not in self.scored | self.closed]

    @property
    def unread(self):
        read = {name for vertex in self.vertices for name in vertex.inputs}
        return [name for name in self.open if name not in read]


def graph_conf(choices, options):
    """Draws a GraphConf."""
    graph = Growing(inputs_of(choices))
    for _ in range(choices.integer(1, 6)):
        step = choices.pick((follow, follow, join, join, share))
        with suppress(ConfigError, ShapeError):
            fitting(lambda step=step: step(choices, graph))
    for _ in range(choices.pick((1, 1, 2))):
        name = choices.pick(graph.unread or graph.open)
        output = fitting(lambda name=name: output_for(choices, graph.shapes[name]))
        graph.add(output, (name,), after_all(output, graph.shapes[name]))
    return GraphConf(inputs=graph.inputs, vertices=graph.vertices, **options)


def inputs_of(choices):
    """Draws {name: shape}, often with equal shapes, so that inputs can be joined."""
    from tests.oracle.networks import example_shape

    shape = example_shape(choices)
    inputs = {"a": shape}
    if choices.chance(0.5):
        inputs["b"] = shape if choices.chance(0.5) else related(choices, shape)
    return inputs


def related(choices, shape):
    """Draws a shape that differs along one axis or lacks the last axes."""
    if choices.chance(0.4):
        return shape[: choices.integer(1, len(shape))]
    axis = choices.integer(0, len(shape) - 1)
    return tuple(choices.integer(1, 4) if i == axis else n for i, n in enumerate(shape))


def follow(choices, graph):
    """Adds a layer with one input."""
    source = choices.pick(graph.unread or graph.open)
    if choices.chance(0.3):
        source = choices.pick(graph.open)
    layer = layer_for(choices, graph.shapes[source])
    graph.add(layer, (source,), after_all(layer, graph.shapes[source]))


def share(choices, graph):
    """Adds a vertex that shares an earlier one's parameters, on an input of the same shape."""
    owners = [
        vertex
        for vertex in graph.vertices
        if not vertex.layer.multi_input
        and vertex.shares is None
        and vertex.layer.type_name != "Unstack"
    ]
    pairs = [
        (owner, name)
        for owner in owners
        for name in graph.open
        if graph.shapes[name] == graph.shapes[owner.inputs[0]] and owner.name in graph.open
    ]
    if not pairs:
        return follow(choices, graph)
    owner, name = choices.pick(pairs)
    shares = owner.name if owner.layer.param_shapes(graph.shapes[name]) else None
    graph.add(owner.layer, (name,), graph.shapes[owner.name], shares)


def join(choices, graph):
    """Adds a layer with several inputs."""
    several = [kind for kind in JOINS if kind not in BATCHWISE or choices.chance(0.3)]
    make = JOINS[choices.pick(several)]
    names = [choices.pick(graph.open) for _ in range(choices.pick((2, 2, 2, 3)))]
    if choices.chance(0.7):
        alike = [n for n in graph.open if graph.shapes[n] == graph.shapes[names[0]]]
        names = [names[0], *(choices.pick(alike) for _ in names[1:])]
    shapes = tuple(graph.shapes[name] for name in names)
    layer = make(choices, shapes)
    if make is reindexed:
        names, shapes = with_input(graph, names[0], "index", (1,))
    if make is continued:
        names, shapes = with_input(graph, names[0], "going_on", (*shapes[0][:1], 1))
    joined = layer.out_shape(shapes)
    if not joined or max(joined) > LARGEST:
        raise ShapeError(f"{layer} of {shapes}")
    name = graph.add(layer, tuple(names), joined)
    if layer.type_name == "Stack":
        unstack(choices, graph, name, len(names))


def unstack(choices, graph, name, count):
    """Adds, at random, a layer over the stacked batches, then an Unstack for each."""
    shape = graph.shapes[name]
    graph.closed.add(name)
    if choices.chance(0.6):
        layer = layer_for(choices, shape)
        if layer.type_name in ADDING:
            raise ShapeError(f"{layer.type_name} adds a loss for each example, not for each of two")
        shape = after_all(layer, shape)
        name = graph.add(layer, (name,), shape)
        graph.closed.add(name)
    for index in range(count):
        graph.add(layers.Unstack(index=index, count=count), (name,), shape)


def with_input(graph, name, key, shape):
    """Returns (names, shapes) of `name` and an extra input, which is added if missing."""
    if graph.shapes.setdefault(key, shape) != shape:
        raise ShapeError(f"{key} has the shape {graph.shapes[key]}, not {shape}")
    graph.inputs[key] = shape
    return [name, key], (graph.shapes[name], shape)


def reindexed(choices, shapes):
    return layers.BatchReindex()


def continued(choices, shapes):
    cls = choices.pick((layers.SimpleRnn, layers.GRU, layers.LSTM, layers.GravesLSTM))
    return cls(units=choices.integer(1, 4), continuation=True, **options_of(choices, cls))


def element_wise(choices, shapes):
    operation = choices.pick(("add", "subtract", "product", "average", "max"))
    options = {"operation": operation}
    if operation == "add" and choices.chance(0.4):
        options["coefficients"] = tuple(choices.pick((1.0, -2.0, 0.5)) for _ in shapes)
    return layers.ElementWise(**options)


def comparison(choices, shapes):
    loss = choices.pick(("mse", "euclidean", "huber", "l1", "cosine_proximity"))
    first = shapes[0]
    loss = LOSSES[loss](choices, first[0] if len(first) > 2 else first[-1])
    reduction = choices.pick(("mean", "sum", "valid", "full", "total"))
    return layers.Comparison(loss=loss, reduction=reduction, loss_weight=0.5)


def looking(choices, shapes):
    options = {"heads": choices.integer(1, 2), "head_size": choices.integer(1, 3)}
    options |= {"causal": choices.chance(0.3), "dropout": choices.pick((0.0, 0.3))}
    options |= options_of(choices, layers.MultiHeadAttention, options)
    return layers.MultiHeadAttention(**options)


def merge(choices, shapes):
    if choices.chance(0.6):
        return layers.Merge()
    return layers.Merge(axis=choices.integer(0, len(shapes[0]) - 1))


JOINS = {  # type: function (choices, shapes)
    "ElementWise": element_wise,
    "Merge": merge,
    "L2Distance": of(layers.L2Distance, epsilon=one(1e-8, 0.1)),
    "DotInteraction": of(layers.DotInteraction, combine=one("pairs", "sum")),
    "Broadcasting": of(
        layers.Broadcasting, operation=one("product", "add", "mask"), axis=number(0, 1)
    ),
    "MatMul": of(layers.MatMul, transpose_a=one(False, True), transpose_b=one(False, True)),
    "DuplicateToTime": of(layers.DuplicateToTime),
    "Stack": of(layers.Stack),
    "MultiHeadAttention": looking,
    "Comparison": comparison,
    "BatchReindex": reindexed,
    "Continued": continued,
}
