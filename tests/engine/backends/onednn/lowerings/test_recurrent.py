"""oneDNN against the reference: recurrent operations of random shapes, and their kernels."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.backends import get
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from tests.engine.support import close_on_onednn, compare, feeds, tensors, trace, with_gradients

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)
KINDS = {
    "lstm": (ops.lstm, 4, 4, 2, {}),
    "peepholes": (ops.lstm, 4, 4, 2, {}),
    "gru": (ops.gru, 3, 3, 1, {}),
    "gru reset after": (ops.gru, 3, 4, 1, {"reset_after": True}),
    "simple": (ops.simple_rnn, 1, 1, 1, {}),
    "simple relu": (ops.simple_rnn, 1, 1, 1, {"activation": "relu"}),
}
PRIMITIVES = {"packed gemm and cells", "brgemm:avx512_core", "brgemm:avx2"}
STEPS = "steps with oneDNN's products"


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32) * np.float32(0.5)


def case(kind, n, steps, features, units, **options):
    """Returns (a function that joins all outputs, arrays for it)."""
    function, gates, biases, states, own = KINDS[kind]
    weights = [(features, gates * units), (units, gates * units), (biases * units,)]
    arrays = [normal(*s) for s in [(n, steps, features), *weights, *[(n, units)] * states]]
    names = ["peepholes"] if kind == "peepholes" else []
    arrays += [normal(3 * units) for _ in names]

    def call(*given):
        count = len(given) - len(names)
        named = dict(zip(names, given[count:]))
        outputs = function(*given[:count], **named, **own, **options)
        return ops.concat([ops.reshape(y, (-1,)) for y in outputs])

    return call, arrays


def summand_sizes(kind, arrays, backwards):
    """Returns {gradient: array of the sums of its summands' absolute values}, of plain layers.

    Where the summands cancel, the rounding errors are those of the summands, not of the sum.
    """
    if not kind.startswith("simple"):
        return {}
    x, wx, wh, b, h = (a.astype(np.float64) for a in arrays)
    relu, order = kind == "simple relu", range(x.shape[1])[:: -1 if backwards else 1]
    states, wide = {}, np.abs(h)  # `wide`: the sums of |summands| that a state is made of
    for t in order:
        states[t] = h, wide
        z = x[:, t] @ wx + b + h @ wh
        wide = np.abs(x[:, t]) @ np.abs(wx) + np.abs(b) + np.abs(h) @ np.abs(wh)
        h = np.maximum(z, 0) if relu else np.tanh(z)
    sizes = [np.zeros(a.shape) for a in arrays]
    gh, wide_gh = 2 * h, 2 * wide
    for t in reversed(order):
        slope = (h > 0) if relu else 1 - h * h
        gz, wide_gz = (gh + 2 * h) * slope, (wide_gh + 2 * wide) * slope
        h, wide = states[t]
        gh, wide_gh = gz @ wh.T, np.abs(gz) @ np.abs(wh).T
        sizes[0][:, t] = wide_gz @ np.abs(wx).T
        sizes[1] += np.abs(x[:, t]).T @ wide_gz
        sizes[2] += wide.T @ wide_gz
        sizes[3] += wide_gz.sum(0)
    return {f"g{i}": size for i, size in enumerate([*sizes[:4], wide_gh])}


def kernels(graph):
    return [s.kernel for s in compile(graph, "onednn").steps if s.flops and "MatMul" not in s.op]


sizes = [st.integers(1, 9), st.integers(1, 7), st.integers(1, 20), st.integers(1, 40)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(*sizes, st.booleans())
@example(3, 2, 12, 1, True)  # a gradient of relu of 0.007 has summands of 40
def test_primitives_of_drawn_shapes(kind, n, steps, features, units, backwards):
    function, arrays = case(kind, n, steps, features, units, backwards=backwards)
    sizes = summand_sizes(kind, arrays, backwards)
    for graph in (trace(function, *arrays), with_gradients(function, *arrays)):
        close_on_onednn(graph, arrays, sizes=sizes)
        assert set(kernels(graph)) <= PRIMITIVES


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(*sizes, st.booleans())
def test_steps_of_drawn_shapes(kind, n, steps, features, units, backwards):
    indicators = {name: (normal(n, steps) > -0.3).astype(np.float32) for name in ("keep", "mask")}
    function, arrays = case(kind, n, steps, features, units, backwards=backwards, **indicators)
    for graph in (trace(function, *arrays), with_gradients(function, *arrays)):
        close_on_onednn(graph, arrays)
        assert set(kernels(graph)) == {STEPS}


def test_only_a_gradient_of_the_last_state():
    """The other gradients are then zeros, not uninitialized memory."""
    _, (x, *rest) = case("lstm", 3, 4, 5, 6)
    inputs = tensors(**feeds([x, *rest]))
    _, _, c = ops.lstm(*inputs.values())
    graph = Graph(inputs, {"g": gradients(ops.sum(ops.square(c)), list(inputs.values()))[0]})
    close_on_onednn(graph, [x, *rest])


def test_what_a_gradient_needs_may_be_looked_at():
    """An output is then not replaced by oneDNN's workspace."""
    _, arrays = case("lstm", 3, 4, 5, 6)
    compare(trace(LstmOp(), *arrays), arrays)


def test_an_empty_batch_goes_through():
    function, arrays = case("lstm", 0, 4, 5, 6)
    assert compile(trace(function, *arrays), "onednn").run(feeds(arrays))["y0"].shape == (0,)
    compare(with_gradients(function, *arrays), arrays)


def test_two_runs_give_the_same_bits():
    function, arrays = case("lstm", 5, 7, 20, 30)
    program = compile(with_gradients(function, *arrays), "onednn")
    first = {name: value.copy() for name, value in program.run(feeds(arrays)).items()}
    again = program.run(feeds(arrays))
    assert all(np.array_equal(first[name], again[name]) for name in first)
