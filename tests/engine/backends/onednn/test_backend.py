"""oneDNN against the reference: every operation, forward and backward, and random shapes."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn import backend as backend_module
from sparkdl.engine.maxima import MaxPoolWithPlacesOp
from sparkdl.errors import UnsupportedError
from tests.engine.cases import CASES
from tests.engine.support import compare, feeds, trace, with_gradients
from tests.support.tables import first_of_each

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)


def single(case):
    return [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]


@pytest.mark.parametrize("name", CASES)
def test_forward_agrees_with_the_reference(name):
    arrays = single(CASES[name])
    compare(trace(CASES[name].op, *arrays), arrays)


@pytest.mark.parametrize("name", first_of_each(n for n, case in CASES.items() if case.order))
def test_backward_agrees_with_the_reference(name):
    arrays = single(CASES[name])
    compare(with_gradients(CASES[name].op, *arrays), arrays, 1e-3, 1e-4)


@pytest.mark.parametrize("name", first_of_each(n for n, case in CASES.items() if case.order))
def test_what_onednn_does_not_compute_numpy_does(name):
    """In float64 the rewritten graph must be right without a single oneDNN kernel."""
    arrays = CASES[name].arrays
    graph = with_gradients(CASES[name].op, *arrays)
    compare(graph, arrays, 1e-9, 1e-9)
    steps = [s for s in compile(graph, "onednn").steps if s.writes[0].dtype == np.float64]
    assert all("numpy" in s.kernel or s.kernel == "compiled loop" for s in steps)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70), st.booleans(), st.booleans())
def test_products_of_drawn_shapes(m, k, n, tx, ty):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((k, m) if tx else (m, k), np.float32)
    y = rng.standard_normal((n, k) if ty else (k, n), np.float32)

    def function(x, y):
        return ops.matmul(x, y, tx, ty)

    compare(trace(function, x, y), [x, y])
    compare(with_gradients(function, x, y), [x, y], 1e-3, 1e-2)


@pytest.mark.parametrize("size, space", [((3, 2), (7, 8)), ((17, 16), (24, 23))], ids=str)
def test_places_of_maxima_are_numbered_alike(size, space):
    """So forward or backward alone may fall back to numpy."""
    x = np.random.default_rng(0).permutation(6 * np.prod(space)).astype(np.float32)
    x = x.reshape(2, 3, *space)
    op = MaxPoolWithPlacesOp(size, (2, 1), ((1, 1), (0, 1)), (1, 1))
    graph = trace(op, x)
    y, places = (compile(graph, "onednn").run(feeds([x]))[name] for name in ("y0", "y1"))
    expected = op.reference(x)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(places, expected[1])
    assert len(np.unique(places)) > 4


def test_two_runs_give_the_same_bits():
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal((8, 3, 9, 9), np.float32),
        rng.standard_normal((4, 3, 3, 3), np.float32),
    )
    program = compile(with_gradients(ops.conv, x, w), "onednn")
    first = {name: value.copy() for name, value in program.run(feeds([x, w])).items()}
    again = program.run(feeds([x, w]))
    assert all(np.array_equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("threads", [1, 3])
def test_two_programs_on_as_many_threads_give_the_same_bits(threads):
    """Covers kernels that sum over the batch in one part per thread."""
    rng = np.random.default_rng(0)
    shapes = (16, 3, 32, 32), (8, 3, 5, 5), (8,), (8,), (8 * 28 * 28, 4)
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]

    def function(x, w, gamma, beta, v):
        y = ops.relu(ops.batch_norm(ops.conv(x, w), gamma, beta, 1e-3)[0])
        return ops.matmul(ops.reshape(y, (16, -1)), v)

    graph, found = with_gradients(function, *arrays), []
    for _ in range(2):
        with threadpool_limits(threads):
            outputs = compile(graph, "onednn").run(feeds(arrays))
        found.append([value.tobytes() for value in outputs.values()])
    assert found[0] == found[1]


def test_heavy_operations_have_a_kernel_of_their_own():
    def function(x, w, b):
        y = ops.max_pool(ops.relu(ops.add_bias(ops.conv(x, w), b, 1)), 2)
        return ops.matmul(ops.reshape(y, (2, -1)), ops.reshape(y, (2, -1)), False, True)

    arrays = [np.ones(s, np.float32) for s in [(2, 3, 8, 8), (4, 3, 3, 3), (4,)]]
    steps = compile(with_gradients(function, *arrays), "onednn").steps
    heavy = [s for s in steps if any(n in s.op for n in ("Conv", "MatMul", "MaxPool", "Relayout"))]
    assert len(heavy) >= 7
    assert not [s for s in heavy if "numpy" in s.kernel or s.kernel.startswith("ref")]


def test_a_library_that_is_not_there_is_named(monkeypatch):
    from sparkdl.engine.backends.onednn.binding import library

    monkeypatch.setenv(library.VARIABLE, "/nowhere/libdnnl.so.3")
    with pytest.raises(UnsupportedError, match=r"/nowhere/libdnnl.so.3.*install onednn-cpu-gomp"):
        library.load.__wrapped__()


@pytest.mark.slow
def test_a_program_that_goes_takes_its_memory_along():
    x, w = np.ones((16, 32, 30, 30), np.float32), np.ones((64, 32, 3, 3), np.float32)
    graph = with_gradients(ops.conv, x, w)

    def resident():
        for _ in range(30):
            compile(graph, "onednn").run(feeds([x, w]))
        gc.collect()
        return psutil.Process().memory_info().rss

    before = resident()
    assert resident() - before < 5 << 20


def test_threads_that_ask_at_once_get_one_backend(monkeypatch):
    def make():
        time.sleep(0.05)
        return object()

    monkeypatch.setattr(backend_module, "make_backend", cache(make))
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(get, ["onednn"] * 8))
    assert len(set(made)) == 1
    with pytest.raises(AttributeError, match="'sparkdl.engine.backends.onednn.backend' has no"):
        backend_module.no_such_name  # noqa: B018
