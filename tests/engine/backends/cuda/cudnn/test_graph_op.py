"""cuDNN graphs, computed by a test double of its module in the host driver's memory."""

import re

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.backends.cuda.support import assert_row, assert_same, near, values
from tests.engine.cases import CASES
from tests.engine.support import ops_of, trace, with_gradients
from tests.support.tables import first_of_each

FAMILIES = "Conv", "BatchNorm", "LayerNorm", "BiasActivation"
OWN = re.compile("sequence|of channels|^BiasActivation( (Relu|Tanh|Sigmoid))?$")  # our own
ROWS = [n for n in CASES if n.startswith(FAMILIES)]


@pytest.fixture(autouse=True)
def cuda(cuda, monkeypatch, tmp_path):
    """Makes the backend use the library's test double."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_cudnn")


@pytest.mark.parametrize("name", first_of_each(ROWS))
def test_a_row_is_the_references(name):
    program = assert_row(name)
    assert OWN.search(name) or any(s.kernel.startswith("cuDNN") for s in program.steps)


def images(kind, *shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32).astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float16", BFLOAT16])
@pytest.mark.parametrize("activation", [ops.relu, ops.tanh, None])
def test_bias_and_activation_behind_a_convolution(kind, activation):
    arrays = images(kind, 2, 8, 7, 6), images(kind, 16, 8, 3, 3), images("float32", 16)

    def function(x, w, b):
        y = ops.add_bias(ops.conv(x, w, padding=1), b, 1)
        return y if activation is None else activation(y)

    program = assert_same(trace(function, *arrays), arrays, 1e-5 if kind == "float32" else 2e-2)
    *casts, last = program.steps
    assert "cuDNN" in last.kernel and [s.op for s in casts] == ["Cast"] * (kind != "float32")


@pytest.mark.parametrize("padding", [1, ((0, 1), (2, 0))])
@pytest.mark.parametrize("groups", [1, 2])
def test_three_channels_of_16_bits_become_eight(padding, groups):
    channels = 3 if groups == 1 else 4
    arrays = images(BFLOAT16, 2, channels, 9, 8), images(BFLOAT16, 8, channels // groups, 3, 3)
    graph = with_gradients(lambda x, w: ops.conv(x, w, 2, padding, 1, groups), *arrays)
    program = assert_same(graph, arrays, 2e-2)
    assert ("Pad" in ops_of(program)) is (groups == 1)
    own = [s for s in program.steps if s.op.startswith("Conv")]
    assert len(own) == 3 and all(s.kernel.startswith("cuDNN") for s in own)


@pytest.mark.parametrize("kind", ["float32", BFLOAT16])
def test_a_sum_and_a_relu_go_with_a_normalization(kind):
    x, other = images(kind, 4, 8, 5, 3), images(kind, 4, 8, 5, 3)[::-1].copy()
    arrays = x, images("float32", 8), images("float32", 8) + 1, images(kind, 8, 8, 3, 3), other

    def function(x, gamma, beta, w, other):
        y = ops.relu(ops.batch_norm(x, gamma, beta)[0])
        z = ops.batch_norm(ops.conv(y, w, padding=1), gamma, beta)[0]
        return ops.relu(z + ops.batch_norm(other, gamma, beta)[0])

    graph = with_gradients(function, *arrays)
    program = assert_same(graph, arrays, 1e-4 if kind == "float32" else 3e-2)
    requests = [n.op.request for n in program.graph.nodes if hasattr(n.op, "request")]
    assert [r.label for r in requests].count("normalization") == 3
    assert [(r.rectified, r.other is not None) for r in requests[:3]].count((True, True)) == 1
    assert [r.label for r in requests].count("gradient of a normalization") == 3
    assert "Relu" not in ops_of(program)


@pytest.mark.parametrize("shape", [(6, 8), (2, 8, 3, 2, 2)])
def test_rows_and_volumes_are_normalized(shape):
    arrays = images("float32", *shape), images("float32", 8), images("float32", 8)
    graph = with_gradients(lambda *xs: ops.relu(ops.batch_norm(*xs)[0]), *arrays)
    program = assert_same(graph, arrays, 1e-4)
    assert ops_of(program).count("CudnnGraph") == 2


def test_parameters_may_begin_anywhere_in_a_vector():
    """cuDNN graphs need 16-byte alignment."""
    backend, shapes = base.get("cuda"), [(8,), (8,), (8, 8, 1, 1)]
    arrays = [images("float32", 2, 8, 4, 3), *(images("float32", *shape) for shape in shapes)]
    graph = with_gradients(lambda x, a, b, w: ops.conv(ops.batch_norm(x, a, b)[0], w), *arrays)
    weights, gradients = (backend.vector(np.zeros(81, np.float32)) for _ in range(2))
    bindings, start = {}, 1
    for i, array in enumerate(arrays[1:], 1):
        for vector, name in ((weights, f"x{i}"), (gradients, f"g{i}")):
            bindings[name] = vector.open()[start : start + array.size].reshape(array.shape)
        bindings[f"x{i}"][...] = array
        start += array.size
    program, expected = compile(graph, "cuda", bindings), values(graph, arrays, "reference")
    for _ in range(3):
        found = program.run({"x0": arrays[0]})
        for name, value in expected.items():
            near(found[name], value, 1e-4)
    assert sum("cuDNN" in step.kernel for step in program.steps) == 5


@pytest.mark.slow
def test_what_cudnn_refuses_is_told_and_left_to_our_own():
    arrays = images(BFLOAT16, 4, 12, 5, 3), images("float32", 12), images("float32", 12)
    graph = trace(lambda *xs: [ops.relu(ops.batch_norm(*xs)[0]) for _ in range(2)], *arrays)
    text = assert_same(graph, arrays, 2e-2).describe()
    reason = "12 channels are no multiple of 16 bytes"
    assert text.count(reason) == 1 and "cuDNN has no normalization of" in text
    sequence = images("float32", 2, 4, 9), images("float32", 6, 4, 3)
    program = assert_same(trace(lambda x, w: ops.conv(x, w), *sequence), sequence, 1e-5)
    assert "cuDNN: sequences do not lie channels last" in program.describe()
    arrays = sequence[0], images("float32", 4), images("float32", 4)
    graph = with_gradients(lambda *xs: ops.tanh(ops.batch_norm(*xs)[0]), *arrays)
    text = assert_same(graph, arrays, 1e-4).describe()
    assert text.count("float32'): channels do not lie together") == 1


def attention(q, k, v, causal=True, scale=0.25):
    n, steps, _ = q.shape
    hidden = np.triu(np.full((n, steps, steps), -1e30, np.float32), 1).astype(q.dtype)
    scores = ops.head_scores(q, k, hidden if causal else None, heads=2, scale=scale)
    return ops.head_mix(ops.softmax(scores), v, heads=2)


@pytest.mark.parametrize("make", [trace, with_gradients])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_one_graph_each_way(make, causal):
    arrays = [images(BFLOAT16, 3, 5, 16)[:, ::step] for step in (1, -1, 1)]
    graph = make(lambda q, k, v: attention(q, k, v, causal), *arrays)
    program = assert_same(graph, arrays, 3e-2)
    assert ops_of(program).count("CudnnGraph") == 1 + (make is with_gradients)
    assert not {"HeadScores", "HeadMix", "Softmax"} & set(ops_of(program))


def test_rows_of_16_bits_are_normalized_as_they_lie():
    """Casts to float32 around a layer norm are dropped if nothing else needs them."""
    arrays = images(BFLOAT16, 6, 24), images("float32", 24), images("float32", 24)

    def function(x, gamma, beta):
        return ops.cast(ops.layer_norm(ops.cast(x, "float32"), gamma, beta), BFLOAT16)

    program = assert_same(with_gradients(function, *arrays), arrays, 3e-2)
    requests = [n.op.request for n in program.graph.nodes if hasattr(n.op, "request")]
    assert [r.x.dtype for r in requests] == [BFLOAT16] * 2


def twice(q, k, v):
    return attention(q, k, attention(q, k, v))


def masked(q, k, v):
    bias = images(BFLOAT16, 3, 5, 5)
    return ops.head_mix(ops.softmax(ops.head_scores(q, k, bias, heads=2)), v, heads=2)


def maps_read(q, k, v):
    maps = ops.softmax(ops.head_scores(q, k, heads=2))
    return ops.head_mix(maps, v, heads=2) + ops.mean(maps)


def scores_read(q, k, v):
    scores = ops.head_scores(q, k, heads=2)
    return ops.head_mix(ops.softmax(scores), v, heads=2) + ops.mean(scores)


def dropped(q, k, v):
    lost = np.arange(150).reshape(6, 5, 5) % 3 == 0
    maps = ops.softmax(ops.head_scores(q, k, heads=2))
    return ops.head_mix(ops.where(lost, 0.0, ops.mul(maps, 1.5)), v, heads=2)


MORE = {
    twice: (4, None),
    masked: (0, "something is added to the scores"),
    maps_read: (0, "something else reads what softmax gives"),
    scores_read: (0, "something else reads the scores"),
    dropped: (0, "what softmax gives is changed, as by dropout"),
}


@pytest.mark.parametrize("function", MORE)
def test_attention_that_is_more_than_that_runs_by_our_own(function):
    arrays = [images(BFLOAT16, 3, 5, 16)[:, ::step] for step in (1, -1, 1)]
    program = assert_same(with_gradients(function, *arrays), arrays, 6e-2)
    graphs, reason = MORE[function]
    assert ops_of(program).count("CudnnGraph") == graphs
    notes = [line for line in program.describe().splitlines() if "no attention of" in line]
    assert len(notes) == (reason is not None) and all(reason in line for line in notes)
