"""Counts of multiplications and additions in products, against counts by hand."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Program, ops
from sparkdl.engine.backends import get
from tests.engine.networks import lenet
from tests.engine.support import trace

F32 = np.float32


def zeros(*shape):
    return np.zeros(shape, F32)


CASES = {
    "product": (ops.matmul, (zeros(3, 4), zeros(4, 5)), 2 * 3 * 4 * 5),
    "x transposed": (lambda x, y: ops.matmul(x, y, True), (zeros(4, 3), zeros(4, 5)), 120),
    "both transposed": (
        lambda x, y: ops.matmul(x, y, True, True),
        (zeros(4, 3), zeros(5, 4)),
        120,
    ),
    "products of a batch": (ops.matmul, (zeros(2, 3, 4), zeros(2, 4, 5)), 240),
    "scores of heads": (
        lambda q, k: ops.head_scores(q, k, heads=2),
        (zeros(2, 3, 8), zeros(2, 5, 8)),
        2 * 2 * 3 * 5 * 8,
    ),
    "mix of heads": (
        lambda maps, v: ops.head_mix(maps, v, heads=2),
        (zeros(4, 3, 5), zeros(2, 5, 8)),
        2 * 2 * 3 * 5 * 8,
    ),
    "convolution": (ops.conv, (zeros(2, 3, 6, 6), zeros(8, 3, 5, 3)), 2 * (2 * 8 * 2 * 4) * 45),
    "in groups": (
        lambda x, w: ops.conv(x, w, groups=2),
        (zeros(2, 4, 6, 6), zeros(8, 2, 3, 3)),
        2 * (2 * 8 * 4 * 4) * 18,
    ),
    "transposed convolution": (
        lambda x, w: ops.conv_transpose(x, w, (6, 6), stride=2),
        (zeros(2, 8, 2, 2), zeros(8, 3, 3, 3)),
        2 * (2 * 8 * 2 * 2) * 27,
    ),
    "element by element": (lambda x, y: ops.exp(x) * y, (zeros(9), zeros(9)), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_flops(name):
    function, arrays, count = CASES[name]
    assert trace(function, *arrays).flops == count


def test_lenet_step():
    """The backward pass takes twice the forward count, less the gradient of the images."""
    forward = [25 * 20 * 24 * 24, 25 * 20 * 50 * 8 * 8, 800 * 50, 50 * 10]
    assert Graph(*lenet(batch=2)).flops == 2 * 2 * (3 * sum(forward) - forward[0])


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_fused_nodes_count_what_is_inside(backend):
    graph = Graph(*lenet(batch=2))
    program = Program(graph, get(backend))
    assert sum(step.flops for step in program.steps) == graph.flops
