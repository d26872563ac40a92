"""Compiled loops against numpy: every operation, random chains, extreme values, any threads."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.lowerings.compiled_loops import alone
from sparkdl.engine.native import chains
from sparkdl.engine.native.operations import OPERATIONS
from sparkdl.engine.ops.activation import EluOp, ErfOp, LeakyReluOp, SigmoidOp, SoftplusOp, TanhOp
from sparkdl.engine.ops.elementwise import ExpOp, LogOp, PowerOp, SqrtOp
from sparkdl.engine.ops.reduce import equal
from sparkdl.engine.ops.shape import CastOp
from tests.engine.random_graphs import ELEMENTWISE, follow, functions
from tests.engine.support import feeds, run_plain, trace, uniform
from tests.support.tables import slow

BACKEND = get("auto")
COMPILER = getattr(BACKEND, "compiler", None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no oneDNN, or no llvmlite: numpy runs")

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, -1e-38, 1.0, -1.0]
EDGES += [88.7, 88.8, -87.4, -103.9, -104.1, 3.4e38, -3.4e38, 0.625, 4.0, 2.0**24]


def compiled(op, *arrays, dtype=np.float32):
    """Returns the compiled loop's result for one operation."""
    out = np.empty(np.broadcast_shapes(*(a.shape for a in arrays)), dtype)
    chains.chain_kernel(alone(op, len(arrays)), list(arrays), [out], COMPILER)()
    return out


def everywhere():
    """Returns float32 numbers with random bits, and more of them near 0."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    near = [rng.uniform(-s, s, 100_000) for s in (0.5, 3.0, 110.0)]
    return np.concatenate([bits, np.concatenate([*near, EDGES]).astype(np.float32)])


EXACT = {
    "exp": (ExpOp(), np.exp, 1),
    "log": (LogOp(), np.log, 1),
    "tanh": (TanhOp(), np.tanh, 2),
    "sigmoid": (SigmoidOp(), lambda x: 1 / (1 + np.exp(np.minimum(-x, 88))), 3),
    "softplus": (SoftplusOp(), lambda x: np.logaddexp(0, x), 2),
    "erf": (ErfOp(), scipy.special.erf, 2),
    "elu": (EluOp(), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), 1),
    "leaky relu": (LeakyReluOp(0.5), lambda x: np.where(x > 0, x, x / 2), 0.5),
    "sqrt": (SqrtOp(), np.sqrt, 0.5),
}
EXPONENTS = [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -0.5, -2.0, 0.75, -1.5, 10.0, 0.0625]
EXACT |= {
    f"power {e}": (PowerOp(e), lambda x, e=e: np.power(x, np.full(1, e)), 1.5 if e == -0.5 else 0.6)
    for e in EXPONENTS
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_functions_are_right_over_all_numbers(name):
    op, exact, ulps = EXACT[name]
    x = everywhere()
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        rounded = expected.astype(np.float32)
    found = compiled(op, x)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    distance = np.abs(found[finite] - expected[finite]) / np.spacing(np.abs(rounded[finite]))
    assert distance.max() <= ulps


def drawn(rng, shape, dtype):
    if np.dtype(dtype).kind == "f":
        values = rng.standard_normal(shape) * 10
        values[rng.random(shape) < 0.2] = rng.choice(EDGES)
        return values.astype(dtype)
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


ANY_NUMBERS = [equal, ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum, ops.greater]
PLAIN = [*ANY_NUMBERS, ops.div, ops.neg, ops.square, ops.abs, ops.sign, ops.relu, ops.relu_grad]
COUNT = dict.fromkeys([*ANY_NUMBERS, ops.div, ops.relu_grad], 2)


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.kind)
@pytest.mark.parametrize("size", [1, 15, 16, 17, 100])
def test_arithmetic_is_numpys_to_the_bit(op, size):
    rng = np.random.default_rng(size)
    arrays = [drawn(rng, size, np.float32) for _ in range(COUNT.get(op, 1))]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(compiled(op, *arrays), op.reference(*arrays))


TYPES = ["int32", slow("int64"), slow("uint8"), slow("int8"), "float32", slow("bool")]


@pytest.mark.parametrize("op", [*ANY_NUMBERS, ops.where], ids=lambda op: op.kind)
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES[:5])
def test_types_mix_as_in_numpy(op, first, second):
    rng = np.random.default_rng(0)
    arrays = [drawn(rng, 37, first), drawn(rng, 37, second)]
    arrays += [drawn(rng, 37, first)] if op is ops.where and first != "bool" else []
    arrays += [drawn(rng, 37, "float32")] if op is ops.where and first == "bool" else []
    with np.errstate(all="ignore"):
        expected = op(*arrays)
    found = compiled(op, *arrays, dtype=expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("old", [*TYPES, "uint64"])
@pytest.mark.parametrize("new", [*TYPES, "uint64"])
def test_casts_are_numpys(old, new):
    x = np.random.default_rng(0).integers(0, 100, 37).astype(old)
    np.testing.assert_array_equal(compiled(CastOp(new), x, dtype=new), x.astype(new))


def test_every_operation_that_is_compiled_has_a_test():
    tested = {type(op) for op in PLAIN} | {type(op) for op, _, _ in EXACT.values()}
    rest = {"Where", "BroadcastTo", "Cast", "Copy", "SigmoidCrossEntropy"}
    assert {op.kind for op in OPERATIONS} == {op.kind for op in tested} | rest


def test_cross_entropy_of_large_logits():
    logits = np.array([0, 100, -100, 3, -3, 1e30], np.float32)
    targets = np.array([0, 1, 0, 1, 1, 1], np.float32)
    expected = ops.sigmoid_cross_entropy(logits.astype(np.float64), targets)
    np.testing.assert_allclose(
        compiled(ops.sigmoid_cross_entropy, logits, targets), expected, rtol=1e-6, atol=1e-38
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(moves=functions(ELEMENTWISE, longest=15), outputs=st.sets(st.integers(0, 17), min_size=1))
def test_drawn_chains_are_the_same_compiled_and_plain(moves, outputs):
    arrays = [uniform(seed, 2, 3).astype(np.float32) for seed in range(3)]

    def function(*inputs):
        values = follow(moves, inputs)
        return [ops.cast(values[-1 - i % len(values)], "float32") for i in sorted(outputs)]

    found = compile(trace(function, *arrays), "onednn").run(feeds(arrays))
    for a, b in zip(found.values(), run_plain(function, *arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def adam(grad, mean, square, rate):
    mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * ops.square(grad)
    return ops.tanh(grad - rate * mean / (ops.sqrt(square) + 1e-8)), mean, square


@pytest.mark.parametrize("size", [1, 33, 200_000, 1_000_003])
def test_any_number_of_threads_gives_the_same_bits(size):
    arrays = [uniform(seed, size).astype(np.float32) for seed in range(3)]
    arrays = [arrays[0], arrays[1], np.abs(arrays[2]), np.float32(0.01)]
    program = compile(trace(adam, *arrays), "onednn")
    assert any(step.kernel == "compiled loop" for step in program.steps)
    results = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            results.append([y.copy() for y in program.run(feeds(arrays)).values()])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(results[0], run_plain(adam, *arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def layouts(draw, shape):
    """Returns an array of this shape with a random axis order in memory."""
    order = draw(st.permutations(range(len(shape))))
    memory = np.random.default_rng(0).standard_normal([shape[a] for a in order]).astype(np.float32)
    return memory.transpose(np.argsort(order))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.data())
def test_layouts_and_broadcasts(data):
    shape = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
    x = layouts(data.draw, shape)
    kept = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    y = np.random.default_rng(1).standard_normal(
        [n if keep else 1 for n, keep in zip(shape, kept, strict=True)]
    )
    y = y.astype(np.float32)
    out = layouts(data.draw, shape)
    chains.chain_kernel(alone(ops.add, 2), [x, y], [out], COMPILER)()
    np.testing.assert_array_equal(out, x + y)


def test_broadcasts_lie_within_chains():
    x, scale, shift = uniform(0, 4, 6, 5, 5), uniform(1, 6, 1, 1), uniform(2, 1, 6, 1, 1)
    row, single = uniform(3, 4, 1, 1, 1), uniform(4, 1)
    arrays = [a.astype(np.float32) for a in (x, scale, shift, row, single)]

    def function(x, scale, shift, row, single):
        y = ops.add(ops.mul(x, scale), shift)
        wide = ops.broadcast_to(single, x.shape)
        return ops.where(ops.greater(y, row), ops.tanh(y), ops.add(equal(y, wide), wide))

    program = compile(trace(function, *arrays), "onednn")
    [step] = [step for step in program.steps if step.kernel == "compiled loop"]
    assert {"BroadcastTo", "Equal", "Where", "Mul"} <= set(step.op.split("+"))
    found = program.run(feeds(arrays))["y0"]
    np.testing.assert_allclose(found, function(*arrays), rtol=1e-5, atol=1e-6)


NARROW = ml_dtypes.bfloat16
SPECIAL = [
    1e-40,
    -2.3e-39,
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    3e38,
    1e-30,
    1.00390625,
    1.01171875,
]


@pytest.mark.parametrize("size", [1, 16, 37])
def test_bfloat16_is_rounded_after_each_operation(size):
    rng = np.random.default_rng(size)
    x, y = (np.resize([*SPECIAL, *rng.normal(0, 3, 40)], size + i)[i:] for i in range(2))
    arrays = x.astype(NARROW), y.astype(NARROW), np.asarray(0.1, NARROW)

    def function(x, y, rate):
        z = ops.add(ops.mul(x, rate), y)
        kept = ops.where(ops.greater(z, x), z, ops.relu(y))
        return kept, ops.cast(ops.sub(z, x), "float32"), ops.tanh(ops.maximum(x, y))

    program = compile(trace(function, *arrays), "onednn")
    assert {step.kernel for step in program.steps} == {"compiled loop"}
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    for found, plain in zip(program.run(feeds(arrays)).values(), expected, strict=True):
        assert found.dtype == plain.dtype
        rounding = 0 if plain.dtype == np.float32 else 2.0**-8  # of tanh
        found, plain = found.astype(np.float32), plain.astype(np.float32)
        np.testing.assert_allclose(found, plain, rtol=rounding)


def test_float64_is_left_to_numpy():
    x = np.ones(5)
    with pytest.raises(chains.UnsupportedError, match="float64 is left to numpy"):
        compiled(ops.exp, x, dtype=np.float64)
    [step] = compile(trace(ops.exp, x), "onednn").steps
    assert "numpy" in step.kernel and step.note == "float64 is left to numpy"
