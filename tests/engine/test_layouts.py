"""Images and volumes in channels-last against plain order, including axes of length 1."""

from itertools import product

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends import get
from sparkdl.engine.ops.layer_norm import LayerNormGradOp, LayerNormOp
from sparkdl.engine.program import Program
from tests.engine.cases import CASES
from tests.engine.support import evaluate, feeds, onednn_gives, trace, with_gradients
from tests.support.tables import first_of_each

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)

IMAGES = [*product((1, 2), (1, 4), (1, 3), (1, 5))]  # examples, channels, rows, columns
VOLUMES = [(*image, 2) for image in IMAGES if image[0] == 1]
READERS = {  # operations on images and volumes, in any layout
    "tanh": ops.tanh,
    "sums": lambda x: ops.sum(x, (0, *range(2, len(x.shape))), keepdims=True),
    "layer norm": lambda x: ops.layer_norm(x, *weights(x.shape[1]), 1, 0.5),
    "layer norm of rows": lambda x: ops.layer_norm(x, *weights(x.shape[-1]), -1, 0.5),
    "batch norm": lambda x: ops.batch_norm(x, *weights(x.shape[1]), 0.5)[0],
    "batch norm, rectified": lambda x: ops.relu(ops.batch_norm(x, *weights(x.shape[1]), 0.5)[0]),
    "maximum": lambda x: ops.max_pool(x, 2, 1, 1),
    "average": lambda x: ops.avg_pool(x, 2, 1, 1),
    "convolution": lambda x: ops.conv(x, filters(x, 3), 1, 1),
    "transposed": lambda x: ops.conv_transpose(x, filters(x, x.shape[1]), x.shape[2:], 1, 1),
    "softmax": lambda x: ops.softmax(ops.transpose(x, (0, *range(2, len(x.shape)), 1))),
    "resize": lambda x: ops.resize(x, [2 * n for n in x.shape[2:]], True),
    "transpose": lambda x: ops.transpose(x, (0, *range(2, len(x.shape)), 1)),
    "joined": lambda x: ops.concat([x, ops.square(x)], 1),
}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def weights(count):
    return numbers(count, seed=2), numbers(count, seed=3)


def filters(x, count):
    return numbers(count, x.shape[1], *[3] * (len(x.shape) - 2), seed=4)


def forms(shape):
    """Returns other shapes of the same size: flat, rows, and other images and volumes."""
    size, n = int(np.prod(shape)), shape[0]
    rows = [(size,), (1, size), (size, 1), (n, size // n)]
    images = [shape[::-1], (1, 1, 1, size), (n, size // n, 1, 1), (n, size // n, 1, 1, 1)]
    return dict.fromkeys([*rows, *images])


FEW = {(2, 4, 3, 5)}  # the rest take half a minute
SHAPES = [pytest.param(s, marks=[pytest.mark.slow] * (s not in FEW)) for s in [*IMAGES, *VOLUMES]]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_reshaped_is_read_in_its_order(shape, name):
    """Reshapes before and after the kernel, also in the gradients."""
    for form in forms(shape):
        x = numbers(*form)

        def there_and_back(x):
            y = READERS[name](ops.reshape(ops.tanh(x), shape))
            return ops.mul(y if name == "sums" else ops.reshape(y, (-1,)), 1.5)

        for graph in (trace(there_and_back, x), with_gradients(there_and_back, x)):
            onednn_gives(evaluate(graph, [x]), graph, [x], 1e-3, 1e-4)


def compare_bound(graph, arrays):
    """Compares numpy with oneDNN, binding inputs and outputs in plain order: none, each, all."""
    given, expected = feeds(arrays), evaluate(graph, arrays)
    targets = {name: np.empty_like(value) for name, value in expected.items()}
    single = [{name: array} for name, array in (given | targets).items()]
    for bound in ({}, given, targets, given | targets, *single):
        program = Program(graph, get("onednn"), bound)
        found = program.run({k: v for k, v in given.items() if k not in bound})
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, 1e-3, 1e-4, err_msg=f"{name} {[*bound]}")


SPATIAL = [name for name, case in CASES.items() if {a.ndim for a in case.arrays} & {4, 5}]


@pytest.mark.parametrize("name", first_of_each(SPATIAL))
def test_images_of_the_caller_s_lie_in_plain_order(name):
    case = CASES[name]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    compare_bound(trace(case.op, *arrays), arrays)
    if case.order:
        compare_bound(with_gradients(case.op, *arrays), arrays)


@pytest.mark.parametrize("axis", [1, 3])
def test_layer_norm_of_operands_that_lie_in_different_orders(axis):
    gy, x = numbers(2, 4, 3, 5), numbers(2, 4, 3, 5, seed=1)
    gamma, beta = weights(x.shape[axis])
    mean, variance = x.mean(axis), x.var(axis)
    for op, *arrays in (
        (LayerNormOp(axis), x, gamma, beta),
        (LayerNormGradOp(axis), gy, x, gamma, mean, variance),
    ):
        compare_bound(trace(op, *arrays), arrays)
