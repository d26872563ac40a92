"""Matrix products, softmax and their fusions on the host driver."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.lowerings import products
from sparkdl.errors import UnsupportedError
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import ops_of, trace, uniform

SIZE = st.integers(1, 70)


@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
@given(SIZE, SIZE, SIZE, st.booleans(), st.booleans())
def test_products_of_drawn_shapes(m, k, n, tx, ty):
    x = uniform(0, *((k, m) if tx else (m, k))).astype(np.float32)
    y = uniform(1, *((n, k) if ty else (k, n))).astype(np.float32)
    assert_same(trace(lambda x, y: ops.matmul(x, y, tx, ty), x, y), [x, y], runs=1)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_narrow_products_are_added_up_in_float32(dtype):
    x, y = (uniform(i, 70, 70).astype(dtype) for i in range(2))
    assert_same(trace(lambda x, y: ops.matmul(x, y), x, y), [x, y], 1e-2, runs=1)


def test_stacks_of_matrices():
    x, y = uniform(0, 3, 5, 7).astype(np.float32), uniform(1, 3, 7, 66).astype(np.float32)
    assert_same(trace(lambda x, y: ops.matmul(x, y), x, y), [x, y], runs=1)


@pytest.mark.parametrize("stacks", [(12,), (3, 4), (4, 3), (12, 1), (1, 12)], ids=str)
def test_more_matrices_than_a_grid_holds_are_several_launches(monkeypatch, stacks):
    monkeypatch.setattr(products, "GRID", 5)
    x, y = (uniform(i, *stacks, *s).astype(np.float32) for i, s in enumerate([(5, 7), (7, 6)]))
    log = base.get("cuda").device.driver.log  # shared with other tests
    start = len(log)
    assert_same(trace(lambda x, y: ops.matmul(x, y), x, y), [x, y], runs=1)
    grids = {c[3][2] for c in log[start:] if c[0] == "launch" and c[1] == "gemm"}
    assert grids and max(grids) <= 5


def test_a_product_of_too_many_columns_is_refused(monkeypatch):
    monkeypatch.setattr(products, "GRID", 1)
    x, y = (uniform(i, *s).astype(np.float32) for i, s in enumerate([(3, 3), (3, 65)]))
    with pytest.raises(UnsupportedError, match="of 64 columns, got .*65"):
        compile(trace(lambda x, y: ops.matmul(x, y), x, y), "cuda")


@pytest.mark.parametrize("activation", [ops.relu, ops.tanh, ops.gelu, lambda x: x])
def test_bias_and_activation_after_a_product(activation):
    x, w, b = (uniform(i, *s).astype(np.float32) for i, s in enumerate([(9, 8), (8, 70), (70,)]))
    graph = trace(lambda x, w, b: activation(ops.add_bias(ops.matmul(x, w), b)), x, w, b)
    program = assert_same(graph, [x, w, b], runs=1)
    assert activation is ops.gelu or ops_of(program) == ["BiasActivation"]


def test_a_product_of_float64_is_refused():
    x = uniform(0, 3, 3)
    with pytest.raises(UnsupportedError, match="cuda has no product of float64 and float64"):
        compile(trace(lambda x: ops.matmul(x, x), x), "cuda")


@pytest.mark.parametrize("shape", [(5, 1), (5, 10), (3, 1000), (2, 3, 4, 5), (0, 4)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_softmax_of_short_and_long_rows(shape, dtype):
    x, gy = (uniform(i, *shape).astype(dtype) for i in range(2))

    def function(x, gy):
        both = ops.softmax(ops.copy(x)), ops.log_softmax(x)
        return [*both, *(b.node.op.gradient(gy, x, b)[0] for b in both)]

    assert_same(trace(function, x, gy), [x, gy], 1e-2 if dtype != np.float32 else 1e-6, runs=1)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_cross_entropy(kind):
    x = np.concatenate([uniform(0, 4, 300), [[0.0] * 299 + [1000.0]]]).astype(np.float32)
    labels = np.array([0, 7, 200, 150, 99]).astype(kind)
    assert_same(trace(ops.softmax_cross_entropy, x, labels), [x, labels], runs=1)


def test_a_label_that_is_no_class_gives_nan():
    x = uniform(0, 3, 4).astype(np.float32)
    labels = np.array([0, 4, -1], np.int32)
    program = compile(trace(ops.softmax_cross_entropy, x, labels), "cuda")
    losses = program.run({"x0": x, "x1": labels})["y0"]
    assert np.isfinite(losses[0]) and np.isnan(losses[1:]).all()
