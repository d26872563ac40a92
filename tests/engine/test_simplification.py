"""Simplifying a graph before differentiation keeps its values and gradients."""

import numpy as np
import pytest

from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.simplification import simplify
from tests.engine.support import distinct, tensors

IMAGES = distinct(50, 2, 3, 7, 6)


def plain(x):
    return ops.sum(ops.square(ops.max_pool(ops.relu(x), 3, 2, 1)))


def names(graph):
    return [node.op.kind for node in graph.nodes]


def traced(function):
    inputs = tensors(x=IMAGES)
    return Graph(inputs, {"loss": function(inputs["x"])})


def test_pooling_comes_before_relu():
    before, after = traced(plain), simplify(traced(plain))
    assert names(before).index("Relu") < names(before).index("MaxPool")
    assert names(after).index("Relu") > names(after).index("MaxPool")


@pytest.mark.parametrize("shift", [0.0, -5.0, 5.0], ids=["mixed", "all below 0", "all above 0"])
def test_values_and_gradients_stay_as_they_were(shift):
    results = []
    for change in (lambda graph: graph, simplify):
        graph = change(traced(plain))
        (grad,) = gradients(graph.outputs["loss"], [graph.inputs["x"]])
        whole = Graph(graph.inputs, graph.outputs | {"grad": grad})
        results.append({n: a.copy() for n, a in compile(whole).run({"x": IMAGES + shift}).items()})
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name], err_msg=name)


def test_a_relu_that_others_read_stays_where_it_is():
    def function(x):
        y = ops.relu(x)
        return ops.add(ops.sum(y), ops.sum(ops.max_pool(y, 2)))

    assert names(simplify(traced(function))) == names(traced(function))
