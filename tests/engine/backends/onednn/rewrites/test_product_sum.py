"""Products added to inputs in one kernel, in place if requested: the same values."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, compile, ops
from tests.engine.backends.onednn.rewrites.comparison import results

SHAPES = {"z": (5, 7), "x": (5, 3), "y": (3, 7), "w": (7, 7), "b": (7,)}
JOINED = {
    "sum": lambda t: ops.add(t["z"], ops.matmul(t["x"], t["y"])),
    "transposed": lambda t: ops.add(t["w"], ops.matmul(t["z"], t["z"], True)),
    "added to itself": lambda t: ops.add(t["w"], ops.matmul(t["w"], t["w"])),
    "activated behind": lambda t: ops.tanh(ops.add(t["z"], ops.matmul(t["x"], t["y"]))),
}
APART = {
    "other way round": lambda t: ops.add(ops.matmul(t["x"], t["y"]), t["z"]),
    "a row": lambda t: ops.add(t["b"], ops.matmul(t["x"], t["y"])),
    "to no input": lambda t: ops.add(ops.tanh(t["z"]), ops.matmul(t["x"], t["y"])),
}


def given():
    return {name: Tensor(Spec(shape), name=name) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("name", JOINED)
def test_a_sum_is_part_of_the_product(name, rng):
    wanted, found, labels = results(given(), JOINED[name], rng)
    assert "MatMul+Add" in labels and "Add" not in labels
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", APART)
def test_others_stay_apart(name, rng):
    wanted, found, labels = results(given(), APART[name], rng)
    assert "MatMul+Add" not in labels
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_sums_grow_where_they_lie(rng):
    inputs = given()
    out = JOINED["sum"](inputs)
    total = np.zeros(SHAPES["z"], np.float32)
    program = compile(Graph(inputs, {"out": out}), "onednn", {"z": total, "out": total})
    expected = np.zeros(SHAPES["z"])
    for _ in range(3):
        feeds = {n: rng.normal(size=SHAPES[n]).astype(np.float32) for n in ("x", "y", "w", "b")}
        program.run(feeds)
        expected += feeds["x"].astype(np.float64) @ feeds["y"]
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-5)
