"""bfloat16 as a numpy type: computed in float32 by the reference, natively by oneDNN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.backends import get
from sparkdl.engine.dtypes import BFLOAT16, computing_dtype, is_float, lowest, sum_dtype, widen
from tests.engine.cases import CASES
from tests.engine.support import feeds, tensors, with_gradients

ROUNDING = 2e-2  # relative to the largest number: eight bits of mantissa, and sums in another order
with_onednn = pytest.mark.skipif(get("auto").name != "onednn", reason="libdnnl is not here")


def narrow(rng, *shape):
    return rng.standard_normal(shape).astype(BFLOAT16)


def test_types():
    assert is_float(BFLOAT16) and is_float("float64") and not is_float("int32")
    assert (sum_dtype(BFLOAT16), sum_dtype("float16"), sum_dtype("int32")) == (
        "float32",
        "float32",
        "int64",
    )
    assert lowest("float16") == -65504 and lowest("float32") < lowest(BFLOAT16) < -3.3e38
    assert (computing_dtype("float16"), computing_dtype("float64")) == ("float32", "float64")
    assert widen(np.ones(2, BFLOAT16)).dtype == np.float32
    assert widen(np.ones(2, np.float64)).dtype == np.float64


def test_numbers_beside_it_take_its_type_and_float32_widens_it(rng):
    x = narrow(rng, 3)
    assert (x.dtype.name, ops.mul(x, 0.5).dtype.name) == (BFLOAT16, BFLOAT16)
    assert ops.add(x, np.ones(3, np.float32)).dtype == np.float32


def test_sums_are_exact_far_beyond_its_own_eight_bits():
    assert ops.sum(np.ones(3000, BFLOAT16)) == 3000


def test_a_gradient_has_the_type_of_its_tensor():
    x = tensors(x=np.ones((2, 3), np.float32))["x"]
    inner = ops.cast(x, BFLOAT16)
    loss = ops.sum(ops.cast(ops.square(inner), "float32"))
    assert [g.spec.dtype for g in gradients(loss, [x, inner])] == ["float32", BFLOAT16]


OPERATIONS = {
    "product": (lambda x, w: ops.matmul(x, w), [(5, 7), (7, 3)]),
    "product with a float32 bias": (
        lambda x, w: ops.relu(ops.add_bias(ops.matmul(x, w), np.linspace(-1, 1, 3, dtype="f4"))),
        [(5, 7), (7, 3)],
    ),
    "convolution": (lambda x, w: ops.conv(x, w, 1, 1), [(2, 3, 6, 5), (4, 3, 3, 3)]),
    "convolution in groups": (
        lambda x, w: ops.conv(x, w, 2, 1, 1, 2),
        [(2, 4, 6, 5), (6, 2, 3, 3)],
    ),
    "maximum": (lambda x: ops.max_pool(x, 2), [(2, 3, 6, 5)]),
    "average": (lambda x: ops.avg_pool(x, 3, 2, 1), [(2, 3, 6, 5)]),
    "sum of two": (lambda x, y: ops.relu(ops.add(x, y)), [(2, 3, 4, 4), (2, 3, 4, 4)]),
    "sum with a row": (ops.add, [(2, 3, 4), (3, 4)]),
    "sum of a column and more": (ops.add, [(3, 1), (2, 3, 4)]),
    "batch norm": (
        lambda x: ops.batch_norm(x, np.ones(3, "f4"), np.zeros(3, "f4"))[0],
        [(4, 3, 5, 5)],
    ),
    "batch norm by bfloat16": (lambda *a: ops.batch_norm(*a)[0], [(4, 3, 5, 5), (3,), (3,)]),
    "batch norm by bfloat16, rectified": (
        lambda *a: ops.relu(ops.batch_norm(*a)[0]),
        [(4, 16, 5, 5), (16,), (16,)],
    ),
    "given statistics of bfloat16": (
        lambda x, gamma, beta, mean, spread: ops.normalize(
            x, gamma, beta, mean, ops.add(ops.square(spread), 1.0)
        ),
        [(4, 3, 5, 5), (3,), (3,), (3,), (3,)],
    ),
    "layer norm by bfloat16": (lambda *a: ops.layer_norm(*a), [(4, 5, 7), (7,), (7,)]),
    "attention": (
        lambda q, k, v: ops.head_mix(
            ops.softmax(ops.head_scores(q, k, np.ones((2, 1, 5), BFLOAT16), heads=2, scale=0.5)),
            v,
            heads=2,
        ),
        [(2, 3, 8), (2, 5, 8), (2, 5, 8)],
    ),
    "gelu": (lambda x: ops.gelu(x), [(5, 7)]),
    "gelu by tanh": (lambda x: ops.gelu(x, True), [(5, 7)]),
    "cast": (lambda x: ops.cast(ops.cast(x, "float32"), BFLOAT16), [(2, 3, 4, 4)]),
}


def both_ways(function, arrays, backend):
    """Returns a program, and {name: array} of its result and gradients of its weighted sum."""
    inputs = tensors(**feeds(arrays))
    y = function(*inputs.values())
    uneven = np.sin(np.arange(y.spec.size, dtype=np.float32)).reshape(y.shape)
    loss = ops.sum(ops.mul(ops.cast(y, "float32"), uneven))
    grads = gradients(loss, list(inputs.values()))
    graph = Graph(inputs, {"y": y} | {f"g{i}": grad for i, grad in enumerate(grads)})
    program = compile(graph, backend)
    return program, {n: widen(a.copy()) for n, a in program.run(feeds(arrays)).items()}


def assert_close(found, expected):
    for name, value in expected.items():
        limit = ROUNDING * max(np.abs(value).max(initial=0), 1e-3)
        np.testing.assert_allclose(found[name], value, 0, limit, err_msg=name)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_reference_is_that_of_float32_rounded(name, rng):
    function, shapes = OPERATIONS[name]
    arrays = [narrow(rng, *shape) for shape in shapes]
    wide = both_ways(function, [widen(a) for a in arrays], "reference")[1]
    assert_close(both_ways(function, arrays, "reference")[1], wide)


@with_onednn
@pytest.mark.parametrize("name", OPERATIONS)
def test_onednn_agrees_with_the_reference(name, rng):
    function, shapes = OPERATIONS[name]
    arrays = [narrow(rng, *shape) for shape in shapes]
    expected = both_ways(function, arrays, "reference")[1]
    program, found = both_ways(function, arrays, "onednn")
    assert_close(found, expected)
    assert any("numpy" not in step.kernel for step in program.steps)


RECURRENT = [name for name in CASES if name.split()[0] in ("Lstm", "Gru", "SimpleRnn")]


@pytest.mark.parametrize("backend", ["reference", "auto"])
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_rows_round_what_they_store_and_nothing_between(name, backend):
    """A state rounded at each step would lose most of its digits after many steps."""
    case = CASES[name]
    arrays = [array.astype(BFLOAT16) for array in case.arrays]
    exact = [array.astype(np.float64) for array in arrays]
    expected = compile(with_gradients(case.op, *exact)).run(feeds(exact))
    found = compile(with_gradients(case.op, *arrays), backend).run(feeds(arrays))
    assert_close({n: widen(a) for n, a in found.items()}, expected)


@pytest.mark.slow
@with_onednn
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_convolutions_of_drawn_shapes(data):
    draw = data.draw
    groups, kernel = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    stride, padding = draw(st.integers(1, 4)), draw(st.integers(0, 1))
    c, o = groups * draw(st.integers(1, 5)), groups * draw(st.integers(1, 5))
    image = draw(st.integers(kernel, 8)), draw(st.integers(kernel, 8))
    rng = np.random.default_rng(0)
    arrays = [
        narrow(rng, draw(st.integers(1, 3)), c, *image),
        narrow(rng, o, c // groups, kernel, kernel),
    ]

    def function(x, w):
        return ops.relu(ops.conv(x, w, stride, padding, 1, groups))

    found, expected = (both_ways(function, arrays, b)[1] for b in ("onednn", "reference"))
    assert_close(found, expected)


@with_onednn
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans())
def test_products_of_drawn_shapes(m, k, n, tx, ty):
    rng = np.random.default_rng(0)
    arrays = [narrow(rng, *((k, m) if tx else (m, k))), narrow(rng, *((n, k) if ty else (k, n)))]

    def function(x, y):
        return ops.matmul(x, y, tx, ty)

    found, expected = (both_ways(function, arrays, b)[1] for b in ("onednn", "reference"))
    assert_close(found, expected)


def test_weights_that_see_only_padding_get_no_gradient(rng):
    """oneDNN would leave uninitialized memory there."""
    arrays = [narrow(rng, 2, 1, 3, 2), narrow(rng, 2, 1, 2, 2)]

    def function(x, w):
        return ops.conv(x, w, 3, 1)

    program, found = both_ways(function, arrays, "auto")
    assert not found["g1"][..., 0].any()
    assert_close(found, both_ways(function, arrays, "reference")[1])
    assert program.backend.name != "onednn" or "see only padding" in program.describe()
