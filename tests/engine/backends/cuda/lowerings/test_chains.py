"""Elementwise chains on the host driver: every operation, dtype, layout and length."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdl.engine import Graph, compile, ops
from sparkdl.engine.backends.cuda.kernels.expressions import OPERATIONS
from sparkdl.engine.ops.activation import EluOp, LeakyReluOp
from sparkdl.engine.ops.elementwise import PowerOp
from sparkdl.engine.ops.shape import BroadcastToOp, CastOp
from tests.engine.backends.cuda.support import assert_same
from tests.engine.random_graphs import ELEMENTWISE, follow, functions
from tests.engine.support import ops_of, tensors, trace, uniform

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1.1754942e-38, 1.0, -1.0, 88.7, -103.9, 3.4e38]
OPTIONS = {PowerOp: (0.75,), EluOp: (0.5,), LeakyReluOp: (0.2,), CastOp: ("float32",)}
OPTIONS |= {BroadcastToOp: ((3, 5, 40),)}
OPERANDS = {"Where": 3, "SigmoidCrossEntropy": 2, "ReluGrad": 2, "Equal": 2}
OPERANDS |= dict.fromkeys(["Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "Greater"], 2)


def operands(op, dtype, *shape):
    """Returns arrays within an operation's domain; for two operands, with some equal numbers."""
    count = OPERANDS.get(op.kind, 1)
    low = 0.1 if op.kind in ("Log", "Sqrt", "Power") else -2.0
    arrays = [uniform(seed, *shape, low=low) for seed in range(count)]
    return [np.round(a, 1 if count > 1 else 9).astype(dtype) for a in arrays]


@pytest.mark.parametrize("op", sorted(OPERATIONS, key=lambda op: op.kind))
def test_every_operation_is_the_references(op):
    made = op(*OPTIONS.get(op, ()))
    arrays = operands(op, np.float32, 3, 5, 40)
    edges = [np.resize(np.float32(EDGES), 40) for _ in arrays]
    edges = [np.roll(e, 5 * i) for i, e in enumerate(edges)]
    with np.errstate(all="ignore"):
        assert_same(trace(made, *arrays), arrays, runs=1)
        if op is not BroadcastToOp:
            assert_same(trace(made, *edges), edges, runs=1, edges=True)


def moved(x, y, rate):
    """Computes a few steps and two results, as an optimizer does."""
    z = ops.add(ops.mul(x, rate), ops.where(ops.greater(y, x), y, ops.square(x)))
    return ops.sub(z, y), ops.maximum(z, x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "int64"])
@pytest.mark.parametrize("size", [1, 7, 8, 1003])
def test_types_and_lengths(dtype, size):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    arrays = [(8 * uniform(seed, size)).astype(kind) for seed in range(2)]
    arrays.append(np.asarray(3, kind))
    program = assert_same(trace(moved, *arrays), arrays, error=0 if dtype[0] == "i" else 4e-7)
    assert ops_of(program) == ["Chain"]


CASTS = ["float32", "bfloat16", "float16", "int32", "uint8", "float64", "bool"]


@pytest.mark.parametrize("to", CASTS)
@pytest.mark.parametrize("of", CASTS)
def test_casts(of, to):
    x = np.abs(100 * uniform(0, 4, 33)).astype(np.dtype(getattr(ml_dtypes, of, of)))
    assert_same(trace(lambda x: ops.cast(ops.copy(x), to), x), [x], error=0, runs=1)


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_narrow_types_are_rounded_as_numpy_rounds(narrow):
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.float32([*EDGES, 65519.9, 65520, 6e-8, 2e-8])])
    near = np.random.default_rng(1).uniform(-1e-4, 1e-4, 10_000).astype(np.float32)
    x = np.concatenate([x, near])
    kind = np.dtype(getattr(ml_dtypes, narrow, narrow))
    there = compile(trace(lambda x: ops.cast(x, narrow), x), "cuda").run({"x0": x})["y0"]
    with np.errstate(all="ignore"):
        expected = x.astype(kind)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(there.view(np.uint16)[known], expected.view(np.uint16)[known])
    assert np.isnan(there[~known].astype(np.float32)).all()
    every = np.arange(1 << 16, dtype=np.uint16).view(kind)
    back = compile(trace(lambda x: ops.cast(x, "float32"), every), "cuda").run({"x0": every})["y0"]
    np.testing.assert_array_equal(back, every.astype(np.float32))


BROADCASTS = {
    "rows": [(6, 40), (40,)],
    "columns": [(6, 40), (6, 1)],
    "numbers": [(6, 40), ()],
    "both": [(6, 1), (40,)],
    "channels of images": [(2, 8, 3, 5), (8, 1, 1)],
    "examples of images": [(2, 7, 3, 5), (2, 1, 1, 1)],
    "the middle": [(3, 4, 5, 6), (1, 4, 1, 6)],
    "nothing": [(0, 40), (40,)],
}


@pytest.mark.parametrize("shapes", BROADCASTS.values(), ids=BROADCASTS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_broadcasts_and_layouts(shapes, dtype):
    arrays = [uniform(i, *shape).astype(dtype) for i, shape in enumerate(shapes)]
    assert_same(trace(lambda x, y: (ops.sub(x, y), ops.tanh(ops.mul(y, x))), *arrays), arrays)


@pytest.mark.slow
@settings(
    deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(moves=functions(ELEMENTWISE, longest=15), outputs=st.sets(st.integers(0, 17), min_size=1))
def test_random_elementwise_graphs(moves, outputs):
    arrays = [uniform(seed, 2, 3).astype(np.float32) for seed in range(3)]

    def function(*inputs):
        values = follow(moves, inputs)
        return [values[-1 - i % len(values)] for i in sorted(outputs)]

    assert_same(trace(function, *arrays), arrays, runs=1)


def test_a_chain_updates_memory_of_the_callers_in_place():
    grad, mean = (uniform(seed, 1003).astype(np.float32) for seed in range(2))
    expected = 0.9 * mean + 0.1 * grad
    inputs = tensors(grad=grad, mean=mean)
    graph = Graph(inputs, {"new": 0.9 * inputs["mean"] + 0.1 * inputs["grad"]})
    program = compile(graph, "cuda", {"mean": mean, "new": mean})
    assert program.plan.copies == []
    program.run({"grad": grad})
    np.testing.assert_allclose(mean, expected, rtol=1e-6)


def test_outputs_bound_to_parts_of_one_memory():
    memory = np.zeros(40, np.float32)
    x = uniform(0, 20).astype(np.float32)
    inputs = tensors(x=x)
    graph = Graph(inputs, {"a": ops.exp(inputs["x"]), "b": ops.neg(inputs["x"])})
    compile(graph, "cuda", {"a": memory[:20], "b": memory[20:]}).run({"x": x})
    np.testing.assert_allclose(memory, np.concatenate([np.exp(x), -x]), rtol=1e-6)
