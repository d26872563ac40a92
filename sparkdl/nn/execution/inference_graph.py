"""The operations of a network's inference as a graph, for what writes them down elsewhere."""

from sparkdl.engine.graph import Graph, Node, Spec, Tensor, constant
from sparkdl.nn.execution.forward import forward


def inference_graph(conf, params, buffers, batch, outputs):
    """Returns the engine's Graph from the inputs of a network, bags among them, to some layers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    params, buffers : flat vectors
        Of a TrainState; they are constants of the graph.
    batch : int
        Examples.
    outputs : sequence of str
        Names of layers; that of an output layer is its prediction.

    Raises
    ------
    ConfigError
        A name is no layer.
    ShapeError
        A layer does not take so many examples.
    """
    inputs = {name: Tensor(Spec((batch, *s)), name=name) for name, s in conf.input_shapes.items()}
    layouts = (conf.params_layout, params), (conf.buffers_layout, buffers)
    weights, states = (
        {name: constant(view) for name, view in layout.views(vector).items()}
        for layout, vector in layouts
    )
    return Graph(inputs, forward(conf, weights, states, inputs, outputs=outputs).activations)


def parts_of(node: Node):
    """Returns what a node can be replaced by: (its inputs, as new tensors; simpler nodes; result).

    Raises
    ------
    NotImplementedError
        Its operation is made of no others.
    """
    inputs = [Tensor(tensor.spec, value=tensor.value) for tensor in node.inputs]
    result = node.op.decompose(*inputs)
    known = {str(place): tensor for place, tensor in enumerate(inputs) if tensor.value is None}
    nodes = Graph(known, {"result": result}).nodes
    for part in nodes:
        part.scope = node.scope
    return inputs, nodes, result
