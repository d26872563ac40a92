"""Rearrangements and random numbers on the host driver, including channels-last images."""

import ml_dtypes
import numpy as np
import pytest

from sparkdl.engine import Spec, Tensor, compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.lowerings import concatenation
from sparkdl.engine.graph import Graph
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import ops_of, tensors, trace, uniform

X = uniform(0, 4, 6, 5, 3).astype(np.float32)

ARRANGEMENTS = {
    "an image as a row": lambda x: ops.reshape(ops.tanh(x), (4, 90)),
    "a row as an image": lambda x: ops.tanh(ops.reshape(ops.reshape(x, (4, 90)), (4, 3, 5, 6))),
    "an image as another": lambda x: ops.reshape(ops.tanh(x), (4, 3, 6, 5)),
    "axes turned": lambda x: ops.transpose(ops.tanh(x), (3, 1, 0, 2)),
    "rows turned": lambda x: ops.transpose(ops.reshape(ops.tanh(x), (24, 15)), (1, 0)),
    "cut": lambda x: ops.slice(ops.tanh(x), (1, 2, 0, 1), (3, 6, 5, 2)),
    "joined": lambda x: ops.concat([ops.tanh(x), x, ops.slice(x, (0,) * 4, (4, 2, 5, 3))], 1),
    "padded": lambda x: ops.pad(ops.tanh(x), (0, 1, 2, 0), (1, 0, 0, 3)),
    "one hot": lambda x: ops.one_hot(ops.cast(ops.abs(x), "int32"), 3),
}


@pytest.mark.parametrize("arrange", ARRANGEMENTS.values(), ids=ARRANGEMENTS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_arrangements(arrange, dtype):
    x = X.astype(dtype)
    assert_same(trace(arrange, x), [x], 1e-6 if dtype == np.float32 else 1e-2, runs=2)


JOINS = {  # (shapes of the parts, axis, launches)
    "gates": ([(4, 8)] * 4, 1, 1),
    "steps of sequences": ([(3, 1, 8)] * 9, 1, 1),
    "rows": ([(2, 5), (7, 5), (1, 5)], 0, 1),
    "odd widths": ([(6, 3), (6, 1), (6, 4)], 1, 1),
    "numbers alone": ([(1,), (5,)], 0, 1),
    "empty ones": ([(4, 0), (4, 2), (4, 0)], 1, 1),
    "nothing": ([(0, 2), (0, 3)], 1, 0),
    "channels of images": ([(2, 3, 4, 5), (2, 8, 4, 5)], 1, 1),
    "images side by side": ([(2, 3, 4, 1), (2, 3, 4, 6)], 3, 1),
    "volumes": ([(2, 2, 3, 1, 2), (2, 4, 3, 1, 2)], 1, 1),
    "more than a launch takes": ([(2, 3)] * (concatenation.MOST + 1), 1, 2),
}


@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16, np.float64, np.uint8])
@pytest.mark.parametrize("shapes, axis, calls", JOINS.values(), ids=JOINS)
def test_parts_are_joined_by_one_kernel(shapes, axis, calls, kind):
    xs = [(8 * uniform(i, *shape, low=0)).astype(kind) for i, shape in enumerate(shapes)]
    graph = trace(lambda *xs: ops.concat([ops.copy(x) for x in xs], axis), *xs)
    driver = base.get("cuda").device.driver
    start, program = len(driver.log), assert_same(graph, xs, 0, runs=1)
    launches = [call[1] for call in driver.log[start:] if call[0] == "launch"]
    assert [s.kernel for s in program.steps if s.op == "Concat"] == ["join"]
    assert launches.count("join") == calls


def test_parts_of_other_types_and_orders_are_copied_one_by_one():
    image = uniform(0, 2, 3, 4, 5).astype(np.float32)
    here = np.zeros((2, 6, 4, 5), np.float32)  # caller's memory: in plain order, not channels last
    x = tensors(image=image)
    graph = Graph(x, {"y": ops.concat([ops.copy(x["image"]), ops.tanh(x["image"])], 1)})
    program = compile(graph, "cuda", {"y": here})
    program.run({"image": image})
    assert [s.kernel for s in program.steps if s.op == "Concat"] == ["copies"]
    np.testing.assert_allclose(here, np.concatenate([image, np.tanh(image)], 1), 1e-6)
    mixed = [image, image.astype(np.float64)]
    program = assert_same(trace(lambda *xs: ops.concat(xs, 1), *mixed), mixed, 0)
    assert [s.kernel for s in program.steps if s.op == "Concat"] == ["copies"]


ROWS = uniform(1, 4, 6, 8).astype(np.float32)

EYE = np.eye(3, dtype=np.float32)


def gates(y):
    """Slices a time step and its halves, as a recurrent layer does."""
    step = ops.reshape(ops.slice(y, (0, 2, 0), (4, 3, 8)), (4, 8))
    halves = [ops.slice(step, (0, i), (4, i + 4)) for i in (0, 4)]
    return ops.mul(ops.sigmoid(halves[0]), ops.tanh(halves[1]))


SLICES = {  # (function, slices that need a kernel)
    "chains read it": (lambda x: gates(ops.softmax(x)), 0),
    "a product reads it": (
        lambda x: ops.matmul(ops.slice(ops.softmax(x), (0, 0, 0), (4, 6, 3)), EYE),
        1,
    ),
    "of an input": (gates, 1),
    "an output": (lambda x: ops.slice(ops.softmax(x), (0, 0, 0), (4, 6, 3)), 1),
    "of an output": (lambda x: [y := ops.softmax(x), gates(y)], 1),
}


@pytest.mark.parametrize("function, work", SLICES.values(), ids=SLICES)
def test_parts_that_chains_read_are_read_where_they_lie(function, work):
    program = assert_same(trace(function, ROWS), [ROWS], 1e-6)
    assert [s.op for s in program.steps].count("Slice") == work


def sum_of_gates(x, also=lambda z: ()):
    """Returns a function of a sum's halves, as in a recurrent layer, and of `also(sum)`."""
    z = ops.add(ops.softmax(x), ops.reshape(ops.softmax(ops.reshape(x, (24, 8))), x.shape))
    halves = [ops.slice(z, (0, 0, i), (4, 6, i + 4)) for i in (0, 4)]
    return [ops.mul(ops.sigmoid(halves[0]), ops.tanh(halves[1])), *also(z)]


SUMS = {  # (function, additions that need their own kernel)
    "gates": (sum_of_gates, 0),
    "others read it": (lambda x: sum_of_gates(x, lambda z: [ops.softmax(z)]), 1),
    "an output": (lambda x: sum_of_gates(x, lambda z: [z]), 1),
    "parts that overlap": (
        lambda x: sum_of_gates(x, lambda z: [ops.tanh(ops.slice(z, (0, 0, 2), (4, 6, 5)))]),
        1,
    ),
    "of an input": (lambda x: gates(ops.add(x, x)), 1),
}


@pytest.mark.parametrize("function, alone", SUMS.values(), ids=SUMS)
def test_a_sum_that_is_only_cut_is_part_of_the_chains_that_read_it(function, alone):
    program = assert_same(trace(function, ROWS), [ROWS], 1e-6)
    assert [s.op for s in program.steps].count("Add") == alone


def test_what_is_updated_in_place_is_not_read_as_a_part_of_itself():
    """Subtracts the first row, which another thread may already have overwritten."""
    inputs, found = {"p": Tensor(Spec((5, 7)))}, uniform(2, 5, 7).astype(np.float32)
    expected = found - found[:1]
    less = ops.sub(inputs["p"], ops.slice(inputs["p"], (0, 0), (1, 7)))
    program = compile(Graph(inputs, {"new": less}), "cuda", {"p": found, "new": found})
    program.run()
    assert ops_of(program).count("Slice") == 1
    np.testing.assert_array_equal(program.outputs["new"], expected)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (33, 5), (3, 4, 5)])
@pytest.mark.parametrize("draw, error", [(ops.uniform, 0), (ops.normal, 3e-6)])
def test_draws_are_those_of_philox(shape, draw, error):
    inputs = {"ids": Tensor(Spec((5,), "uint64")), "epoch": Tensor(Spec((), "uint64"))}
    y = draw(inputs["ids"], inputs["epoch"], shape, seed=2**40 + 3, stream=2)
    feeds = {"ids": np.array([0, 1, 2**33 + 7, 5, 2**63], np.uint64), "epoch": np.uint64(9)}
    graph = Graph(inputs, {"y": y})
    found = compile(graph, "cuda").run(feeds)["y"]
    np.testing.assert_allclose(found, compile(graph).run(feeds)["y"], error, error)
