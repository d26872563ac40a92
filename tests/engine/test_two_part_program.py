"""Two-part programs: the results of a single program, and which outputs the first part gives."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, backends, ops
from sparkdl.engine.two_part_program import TwoPartProgram, wait_for
from sparkdl.errors import ShapeError

SHAPE = (3, 5)
BACKENDS = ("reference", "onednn")


def tensors(*names):
    return {name: Tensor(Spec(SHAPE), name=name) for name in names}


def program(outputs, inputs, backend, late=("late",), bindings=None):
    return TwoPartProgram(Graph(inputs, outputs), backends.get(backend), bindings, late)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_run_when_their_inputs_are_there(backend):
    rng = np.random.default_rng(1)
    inputs = tensors("x", "late")
    y = ops.mul(ops.tanh(inputs["x"]), 2.0)
    back = ops.mul(wait_for(inputs["late"], [y]), ops.sub(1.0, ops.mul(y, y)))
    halves = program({"y": y, "back": back}, inputs, backend)
    x, late = rng.normal(size=(2, *SHAPE)).astype(np.float32)
    for _ in range(2):
        assert halves.early_outputs == {"y"}
        expected = np.tanh(x) * 2
        assert np.allclose(halves.begin({"x": x})["y"], expected, atol=1e-6)
        found = halves.finish({"late": late})
        assert np.allclose(found["back"], late * (1 - expected**2), atol=1e-5)
        assert np.allclose(found["y"], expected, atol=1e-6), "it is still there"
        x, late = late, x
    together = halves.run({"x": x, "late": late})
    assert np.allclose(together["y"], np.tanh(x) * 2, atol=1e-6)


def test_each_part_takes_its_own_inputs():
    inputs = tensors("x", "late")
    halves = program({"y": ops.add(*inputs.values())}, inputs, "reference")
    zeros = np.zeros(SHAPE, np.float32)
    with pytest.raises(ShapeError, match=r"the program takes \['x'\], got \['late', 'x'\]"):
        halves.begin({"x": zeros, "late": zeros})
    with pytest.raises(ShapeError, match=r"the program takes \['late'\], got \[\]"):
        halves.finish({})


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_late_inputs_all_is_done_in_the_first_part(backend):
    inputs = tensors("x")
    halves = program({"y": ops.exp(inputs["x"]), "x": inputs["x"]}, inputs, backend, late=())
    x = np.ones(SHAPE, np.float32)
    assert halves.early_outputs == {"x", "y"}
    assert np.allclose(halves.begin({"x": x})["y"], np.e)
    assert halves.finish({}) is halves.outputs


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_that_the_second_part_reads_is_not_updated_in_the_first(backend, reads):
    inputs, memory = tensors("state", "late"), np.ones(SHAPE, np.float32)
    following = ops.add(inputs["state"], 1.0)
    late = wait_for(inputs["late"], [following])
    outputs = {"next": following, "back": ops.mul(late, inputs["state"]) if reads else late}
    bindings = {"state": memory, "next": memory}
    halves = program(outputs, inputs, backend, bindings=bindings)
    assert halves.early_outputs == (set() if reads else {"next"})
    halves.begin({})
    assert np.all(memory == (1 if reads else 2))
    found = halves.finish({"late": np.full(SHAPE, 3, np.float32)})
    assert np.all(found["back"] == 3) and np.all(memory == 2)
