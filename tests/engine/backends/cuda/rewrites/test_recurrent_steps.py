"""Recurrent layers without cuDNN: the operations of a training step, and their counts."""

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import tensors, uniform

N, STEPS, FEATURES, UNITS = 2, 5, 3, 4
LAYERS = {"lstm": (ops.lstm, 4, 2), "gru": (ops.gru, 3, 1), "simple_rnn": (ops.simple_rnn, 1, 1)}


def inputs_of(gates, states, kind=np.float32):
    shapes = [(N, STEPS, FEATURES), (FEATURES, gates * UNITS), (UNITS, gates * UNITS)]
    shapes += [(gates * UNITS,)] + [(N, UNITS)] * states
    return {f"x{i}": uniform(i, *shape).astype(kind) for i, shape in enumerate(shapes)}


def training(function, inputs):
    """Returns the graph of a layer's output and the gradients of all its inputs."""
    y = ops.square(function(*inputs.values())[0])
    grads = gradients(ops.sum(y), list(inputs.values()))
    return Graph(inputs, {"y": y} | {f"g{name}": g for name, g in zip(inputs, grads, strict=True)})


def counts(program):
    return Counter(node.op.kind for node in program.graph.nodes)


@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_are_the_references(layer, kind):
    function, gates, states = LAYERS[layer]
    arrays = inputs_of(gates, states, kind)
    graph = training(function, tensors(**arrays))
    assert_same(graph, list(arrays.values()), 1e-5 if kind == np.float32 else 2e-2, runs=2)


def test_the_gradient_of_a_layer_goes_back_by_its_own_steps():
    arrays = inputs_of(4, 2)
    program = compile(training(ops.lstm, tensors(**arrays)), "cuda")
    found = counts(program)
    forward = 1 + STEPS  # products with x and with h
    backward = 3 + STEPS  # gradients of x and the weights, and of h at each step
    assert found["MatMul"] + found["BiasActivation"] == forward + backward
    assert not found["Pad"] and not found["Slice"]
    assert found["Chain"] == 2 * STEPS + 1 and found["Add"] == 1  # plus the loss's; the bias
    assert found["Concat"] == STEPS + 4  # gate gradients of each step, of all steps twice; h, y


def test_parts_of_the_weights_are_cut_once():
    program = compile(training(ops.gru, tensors(**inputs_of(3, 1))), "cuda")
    of_weights = [s for s in program.steps if s.op == "Slice" and s.shapes.startswith("(4, 12)")]
    assert len(of_weights) == 2


def test_a_gradient_at_other_inputs_than_its_layers_goes_back_by_steps_of_its_own():
    arrays = inputs_of(1, 1)
    inputs = tensors(**arrays)
    layer = ops.simple_rnn(*inputs.values())[0].node
    others = [ops.mul(t, 0.5) for t in layer.inputs]
    gys = [ops.square(y) for y in layer.outputs[:2]]

    def grads(saved):
        found = RecurrentGradOp(layer.op)(*gys, *others, saved)
        return Graph(inputs, {f"g{i}": grad for i, grad in enumerate(found)})

    expected = compile(grads(layer.op(*others)[-1])).run(arrays)
    found = compile(grads(layer.outputs[-1]), "cuda").run(arrays)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, 1e-4, 1e-5, err_msg=name)
