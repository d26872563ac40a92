"""A network's inference graph: the operations that compute a prediction."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.graph import Graph, Spec, Tensor
from sparkdl.errors import ConfigError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.nn.execution.inference_graph import inference_graph, parts_of
from sparkdl.training.network import Network

CONF = NetworkConf(input_shape=(3,), layers=[Dense(units=4, activation="tanh"), Output(units=2)])


def graph_of(*outputs, batch=5):
    state = Network(CONF).state
    return inference_graph(CONF, state.params, state.buffers, batch, outputs)


def test_it_goes_from_the_inputs_to_what_is_asked_for():
    graph = graph_of("output_1", "dense_1")
    assert {name: tensor.shape for name, tensor in graph.inputs.items()} == {"features": (5, 3)}
    shapes = {name: tensor.shape for name, tensor in graph.outputs.items()}
    assert shapes == {"output_1": (5, 2), "dense_1": (5, 4)}
    assert {node.op.kind for node in graph.nodes} == {"MatMul", "AddBias", "Tanh", "Softmax"}
    assert {"dense_1", "output_1"} <= {node.scope for node in graph.nodes}


def test_an_unknown_layer_is_named():
    with pytest.raises(ConfigError, match="dense_3"):
        graph_of("dense_3")


def test_parts_compute_what_the_whole_does():
    [node] = [node for node in graph_of("dense_1").nodes if node.op.kind == "AddBias"]
    inputs, nodes, result = parts_of(node)
    assert [part.op.kind for part in nodes] == ["Reshape", "Add"]
    assert {part.scope for part in nodes} == {"dense_1"} and result.shape == (5, 4)
    assert inputs[0].spec == node.inputs[0].spec and inputs[1].value is node.inputs[1].value


def test_what_has_no_parts_says_so():
    x = Tensor(Spec((2,)), name="x")
    [node] = Graph({"x": x}, {"y": ops.relu(x)}).nodes
    with pytest.raises(NotImplementedError):
        parts_of(node)


def test_weights_are_those_of_the_state():
    graph, state = graph_of("dense_1"), Network(CONF).state
    values = [t.value for node in graph.nodes for t in node.inputs if t.value is not None]
    assert sum(value.size for value in values) == 16
    np.testing.assert_array_equal(
        np.sort(np.concatenate([v.ravel() for v in values])), np.sort(state.params[:16])
    )
