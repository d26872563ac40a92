"""Matrix products by the cuBLASLt adapter, on a test double that rejects invalid calls."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.libraries import cublaslt, cublaslt_api
from sparkdl.engine.backends.cuda.libraries import cublaslt_tuning as choice
from sparkdl.engine.backends.cuda.libraries.cublaslt_api import Epilogue
from sparkdl.errors import DeviceError, UnsupportedError
from tests.engine.backends.cuda.support import assert_same, near
from tests.engine.cases import CASES
from tests.engine.support import feeds, trace, uniform, with_gradients
from tests.support.cuda import doubles

SIZE = st.integers(1, 40)
PRODUCTS = ("MatMul", "HeadScores", "HeadMix")
ROWS = [n for n in CASES if n.split()[0] in PRODUCTS]
X, W, B = (uniform(i, *s).astype(np.float32) for i, s in enumerate([(9, 8), (8, 24), (24,)]))


@pytest.fixture(autouse=True)
def adapter(monkeypatch, cuda, tmp_path):
    monkeypatch.setenv("SPARKDL_KERNELS", str(tmp_path))
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_libraries")
    adapter = base.get("cuda").session.libraries.products
    adapter.best.clear()
    return adapter


def kernels(program):
    return [step.kernel for step in program.steps]


def notes(program):
    return [step.note for step in program.steps if step.note]


@pytest.mark.slow
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(SIZE, SIZE, SIZE, st.booleans(), st.booleans())
def test_products_of_drawn_shapes(m, k, n, tx, ty):
    x = uniform(0, *((k, m) if tx else (m, k))).astype(np.float32)
    y = uniform(1, *((n, k) if ty else (k, n))).astype(np.float32)
    program = assert_same(trace(lambda x, y: ops.matmul(x, y, tx, ty), x, y), [x, y], runs=2)
    assert kernels(program) == ["cuBLASLt"]


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_table_of_operations(name):
    case = CASES[name]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    program = assert_same((with_gradients if case.order else trace)(case.op, *arrays), arrays, 1e-5)
    assert "cuBLASLt" in kernels(program) and "gemm" not in kernels(program)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_narrow_products_are_added_up_in_float32(dtype):
    x, y = (uniform(i, 40, 40).astype(dtype) for i in range(2))
    program = assert_same(trace(lambda x, y: ops.matmul(x, y), x, y), [x, y], 1e-2, runs=1)
    assert kernels(program) == ["cuBLASLt"]


@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", [ops.relu, ops.tanh, ops.gelu, lambda x: x])
def test_bias_and_activation_after_a_product(activation, kind):
    """Parameters stay in float32, including the bias of narrow products."""
    arrays = X.astype(kind), W.astype(kind), B
    graph = trace(lambda x, w, b: activation(ops.add_bias(ops.matmul(x, w), b)), *arrays)
    program = assert_same(graph, arrays, 1e-6 if kind == np.float32 else 1e-2, runs=2)
    assert "cuBLASLt" in kernels(program) and not notes(program)


def test_what_the_library_refuses_our_kernel_does_and_says_so(adapter, monkeypatch):
    monkeypatch.setattr(adapter.library, "cublasLtMatmulAlgoGetHeuristic", lambda *words: 15)
    program = assert_same(trace(ops.matmul, X, W), [X, W], runs=1)
    assert kernels(program) == ["gemm"]
    [note] = notes(program)
    assert note.startswith("cuBLASLt: the heuristic gives CUBLAS_STATUS_NOT_SUPPORTED for")
    assert note in program.describe() and "\nwith cuBLASLt 13.10.0\n" in program.describe()


def layers(x, w, b, v, c):
    """Computes two products with gelu in between, and a residual connection."""
    hidden = ops.gelu(ops.add_bias(ops.matmul(x, w), b), approximate=True)
    return ops.add(ops.add_bias(ops.matmul(hidden, v), c), x)


def summed(x, w, v):
    """Adds two products of sequences, only one of which can fuse the addition."""
    return ops.add(ops.matmul(x, w), ops.matmul(x, v))


def rectified(x, w, b):
    return ops.relu(ops.add_bias(ops.matmul(x, w), b))


def in_float32(x, w):
    return ops.cast(ops.matmul(x, w), "float32")


SEQUENCES = uniform(7, 3, 5, 8).astype(np.float32)
LAYERS = [X, W, B, uniform(5, 24, 8).astype(np.float32), uniform(6, 8).astype(np.float32)]
BACK = "MatMul+AddBias+Gelu MatMul+AddBias+Add MatMul+Sum MatMul+GeluGrad+Sum MatMul+Add MatMul+Sum"
FOLLOWED = {
    "MatMul+AddBias+Gelu MatMul+AddBias+Add": (trace, layers, LAYERS),
    BACK: (with_gradients, layers, LAYERS),
    "MatMul MatMul+Add": (trace, summed, [SEQUENCES, W, W + 1]),
    "MatMul": (trace, in_float32, [a.astype(ml_dtypes.bfloat16) for a in (X, W)]),
    "MatMul+AddBias+Relu": (trace, rectified, LAYERS[:3]),
}


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("labels", FOLLOWED)
def test_what_follows_a_product_goes_along(monkeypatch, labels, refused):
    """If the library rejects a fused epilogue, each part is a separate pass with a note on why."""
    if refused:
        refuse_all_but(monkeypatch, Epilogue.DEFAULT)
    make, function, arrays = FOLLOWED[labels]
    program = assert_same(make(function, *arrays), arrays, 1e-2 if function is in_float32 else 1e-5)
    found = [s for s in program.steps if s.kernel == "cuBLASLt"]
    assert " ".join(s.op for s in found) == labels
    assert all((s.note == "cuBLASLt: not today") == refused for s in found if "+" in s.op)


def refuse_all_but(monkeypatch, epilogue):
    ask = choice.candidates

    def candidates(matmul):
        if matmul.product.epilogue != epilogue or matmul.product.plus is not None:
            raise UnsupportedError("not today")
        return ask(matmul)

    monkeypatch.setattr(choice, "candidates", candidates)


def test_an_algorithm_is_asked_for_once_for_each_shape(adapter, monkeypatch):
    asked, ask = [], choice.candidates
    monkeypatch.setattr(choice, "candidates", lambda m: asked.append(m.key) or ask(m))
    for _ in range(2):
        compile(trace(ops.matmul, X, W), "cuda")
        compile(trace(ops.matmul, W, W.T), "cuda")
    assert len(asked) == len(adapter.best) == 2


def clock(times, runs):
    """Returns a driver's `seconds` that runs the work and reports the given times."""

    def timed(work, stream):
        work(0)
        runs.append(work)
        return times[(len(runs) - 1) // (1 + choice.REPEATS)]

    return timed


@pytest.mark.parametrize("times", [[2.0, 3.0], [3.0, 2.0]])
def test_the_fastest_algorithm_is_taken_and_kept_on_disk(adapter, monkeypatch, times):
    """Candidates run on scratch output, and once before they are timed."""
    runs, wanted = [], 4096 if times[0] < times[1] else 0
    monkeypatch.setattr(adapter.driver, "seconds", clock(times, runs))
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert len(runs) == 2 * (1 + choice.REPEATS)
    for _ in range(2):
        [(algorithm, size)] = adapter.best.values()
        assert size == algorithm.data[5] == wanted
        adapter.best.clear()  # as in a new process
        assert_same(trace(ops.matmul, X, W), [X, W])
    assert len(runs) == 2 * (1 + choice.REPEATS)


@pytest.mark.parametrize("content", [b"\1" * 64, b"\1" * 7], ids=["another product's", "cut"])
def test_what_was_kept_is_asked_about_before_it_is_used(adapter, monkeypatch, content):
    """An invalid cached algorithm is replaced by a new choice."""
    runs = []
    monkeypatch.setattr(adapter.driver, "seconds", clock([2.0, 3.0], runs))
    monkeypatch.setattr(choice.cache, "read", lambda key: content)
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert len(runs) == 2 * (1 + choice.REPEATS)


def test_what_was_kept_needs_no_more_workspace_than_there_may_be(adapter, monkeypatch):
    monkeypatch.setattr(adapter.driver, "seconds", clock([2.0, 3.0], []))
    for limit, wanted in ((4096, 4096), (4095, 0)):
        monkeypatch.setattr(choice, "WORKSPACE", limit)
        adapter.best.clear()
        assert_same(trace(ops.matmul, X, W), [X, W])
        assert [size for _, size in adapter.best.values()] == [wanted]


def test_what_does_not_run_is_not_taken(adapter, monkeypatch):
    monkeypatch.setattr(choice, "time_algorithms", lambda *words: ({1: 0.5}, True))
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert [size for _, size in adapter.best.values()] == [0]


def test_without_memory_to_try_the_heuristic_is_believed(adapter, monkeypatch):
    def full(matmul):
        raise DeviceError("no memory")

    monkeypatch.setattr(cublaslt.Matmul, "elsewhere", full)
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert [size for _, size in adapter.best.values()] == [4096]


def test_nothing_is_allocated_once_a_program_is_made(adapter):
    program, log = compile(trace(ops.matmul, X, W), "cuda"), adapter.driver.log
    for _ in range(2):
        dict(program.run(feeds([X, W])))
    start = len(log)
    program.run(feeds([X, W]))
    assert not {"allocate", "pinned", "begin", "library"} & {call[0] for call in log[start:]}
    assert any(call[0] == "library" for call in log[:start])


@pytest.mark.parametrize("tf32, compute", [(False, 68), (True, 77)])
def test_float32_is_rounded_only_where_it_may_be(monkeypatch, tf32, compute):
    seen, make = [], cublaslt.MatrixDescriptor
    monkeypatch.setattr(cublaslt, "MatrixDescriptor", lambda *a: seen.append(a) or make(*a))
    compile(trace(ops.matmul, X, W), "cuda", tf32=tf32)
    assert {values[0] for _, kind, _, *values in seen if kind == "MatmulDesc"} == {compute}


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cublaslt_api, "NAMES", ("libcublasLt.so.none",))
    with pytest.raises(UnsupportedError, match="cuBLASLt was not found: pip install nvidia-cublas"):
        cublaslt.load_adapter(None)


def test_a_library_that_does_not_start_is_missing(monkeypatch):
    monkeypatch.setattr(cublaslt_api, "load_library", lambda *a: Refusing(doubles.cublaslt()))
    with pytest.raises(UnsupportedError, match="cuBLASLt failed: CUBLAS_STATUS_NOT_INITIALIZED"):
        cublaslt.load_adapter(None)


class Refusing:
    def __init__(self, library, status=1):
        for name in cublaslt_api.SIGNATURES:
            setattr(self, name, getattr(library, name))
        self.cublasLtCreate = lambda handle: status


def test_without_memory_nothing_takes_over(adapter, monkeypatch):
    """Our own product would round in another way than that of the other workers."""
    monkeypatch.setattr(cublaslt_api, "load_library", lambda *a: Refusing(doubles.cublaslt(), 3))
    with pytest.raises(MemoryError, match="cuBLASLt has no memory: CUBLAS_STATUS_ALLOC_FAILED"):
        cublaslt.load_adapter(None)
    monkeypatch.setattr(adapter, "best", {})
    monkeypatch.setattr(adapter.library, "cublasLtMatmulAlgoGetHeuristic", lambda *words: 3)
    with pytest.raises(MemoryError, match=r"ALLOC_FAILED; smaller batches need less"):
        compile(trace(ops.matmul, X, W), "cuda")


def test_an_algorithm_without_memory_is_not_timed(adapter, monkeypatch):
    times = iter([1.0] * (1 + choice.REPEATS))

    def seconds(work, stream):
        if (time := next(times, None)) is None:
            raise MemoryError
        return time

    monkeypatch.setattr(adapter.driver, "seconds", seconds)
    monkeypatch.setattr(adapter, "best", {})
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert len(adapter.best) == 1


@pytest.mark.parametrize("lacking", ["run", "workspace"])
def test_a_choice_made_without_memory_for_all_is_not_kept_on_disk(adapter, monkeypatch, lacking):
    def full(*words):
        raise MemoryError if lacking == "run" else DeviceError("no memory")

    times, kept = iter([1.0] * (1 + choice.REPEATS)), []
    monkeypatch.setattr(adapter.driver, "seconds", lambda *words: next(times, None) or full())
    if lacking == "workspace":
        device = base.get("cuda").session.device
        monkeypatch.setattr(type(device), "workspace", full)
    monkeypatch.setattr(choice.cache, "write", lambda key, content: kept.append(content))
    assert_same(trace(ops.matmul, X, W), [X, W])
    assert len(adapter.best) == 1 and not kept


def test_a_bias_may_begin_anywhere_in_a_vector():
    """Like any parameter in a vector, though algorithms read several numbers at once."""
    vector = base.get("cuda").vector(np.zeros(25, np.float32))
    bias = vector.open()[1:]
    bias[...] = B
    graph = trace(lambda x, w, b: ops.add_bias(ops.matmul(x, w), b), X, W, B)
    program = compile(graph, "cuda", {"x2": bias})
    found = program.run({"x0": X, "x1": W})
    near(found["y0"], X @ W + B, 1e-5)
    assert kernels(program) == ["cuBLASLt"]


# The double itself must reject what would be wrong on a real GPU.


def alignment_of_all(matmul):
    matmul.arrays = tuple(shifted(a) for a in matmul.arrays)


def shifted(array):
    return array.reshape(-1)[1:].reshape(1, 1, -1)


def leading(matmul):
    wrong = cublaslt.MatrixDescriptor(
        matmul.library, "MatrixLayout", cublaslt_api.LAYOUT, 0, 24, 8, 23
    )
    matmul.layouts[0] = wrong


def another_shape(matmul):
    matmul.layouts[3].set(BATCH_COUNT=2)


def no_bias(matmul):
    matmul.descriptor.set(EPILOGUE=4)


def no_workspace(matmul):
    matmul.put = lambda a, memory, stream: cublaslt.Matmul.put(matmul, a, None, stream)


@pytest.mark.parametrize("spoil", [alignment_of_all, leading, another_shape, no_bias, no_workspace])
def test_the_double_refuses(adapter, spoil):
    x, w, y = (base.get("cuda").constant(a)[None] for a in (X, W, X @ W))
    matmul = cublaslt.Matmul(adapter, cublaslt.Product(x=x, w=w, y=y), False)
    session = base.get("cuda").fresh().session
    words = matmul.prepare(session)
    session.settle()
    matmul.run(*words, 0)
    spoil(matmul)
    with pytest.raises(DeviceError, match="CUBLAS_STATUS_INVALID_VALUE"):
        matmul.run(*words, 0)
