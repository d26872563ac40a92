"""The graph of a network's inference, for export to other formats."""

from sparkdl.engine.graph import Graph, Node, Spec, Tensor, constant
from sparkdl.nn.execution.forward import forward


def inference_graph(conf, params, buffers, batch, outputs):
    """Returns the engine's Graph from the inputs of a network, including bags, to some layers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    params, buffers : flat vectors
        Those of a TrainState; they become constants of the graph.
    batch : int
        Number of examples.
    outputs : sequence of str
        Names of layers; for an output layer its prediction.

    Raises
    ------
    ConfigError
        If a name is not a layer.
    ShapeError
        If a layer does not accept this number of examples.
    """
    inputs = {name: Tensor(Spec((batch, *s)), name=name) for name, s in conf.input_shapes.items()}
    layouts = (conf.params_layout, params), (conf.buffers_layout, buffers)
    weights, states = (
        {name: constant(view) for name, view in layout.views(vector).items()}
        for layout, vector in layouts
    )
    return Graph(inputs, forward(conf, weights, states, inputs, outputs=outputs).activations)


def parts_of(node: Node):
    """Returns the decomposition of a node: (its inputs as new tensors, simpler nodes, result).

    Raises
    ------
    NotImplementedError
        If its operation does not decompose.
    """
    inputs = [Tensor(tensor.spec, value=tensor.value) for tensor in node.inputs]
    result = node.op.decompose(*inputs)
    known = {str(place): tensor for place, tensor in enumerate(inputs) if tensor.value is None}
    nodes = Graph(known, {"result": result}).nodes
    for part in nodes:
        part.scope = node.scope
    return inputs, nodes, result
