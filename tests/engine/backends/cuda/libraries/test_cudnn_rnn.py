"""Recurrent layers by the cuDNN adapter, on a test double that rejects invalid calls."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.libraries import cudnn_rnn, cudnn_rnn_api
from sparkdl.errors import DeviceError, UnsupportedError
from tests.engine.backends.cuda.support import assert_same
from tests.engine.cases import CASES
from tests.engine.support import feeds, trace, uniform, with_gradients
from tests.support.tables import first_of_each

ROWS = ["Lstm", "Gru reset after", "RecurrentGrad lstm"]


def drawn(*shapes):
    return [(uniform(i, *s) / 2).astype(np.float32) for i, s in enumerate(shapes)]


LSTM = drawn((3, 6, 5), (5, 16), (4, 16), (16,), (3, 4), (3, 4))
GRU = drawn((3, 6, 5), (5, 12), (4, 12), (16,), (3, 4))
EARLY = drawn((3, 6, 5), (5, 12), (4, 12), (12,), (3, 4))
SIMPLE = drawn((3, 6, 5), (5, 4), (4, 4), (4,), (3, 4))
KINDS = [(np.float32, 1e-5), (ml_dtypes.bfloat16, 3e-2), (np.float16, 1e-2)]


@pytest.fixture(autouse=True)
def adapter(monkeypatch, cuda):
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_libraries")
    return base.get("cuda").session.libraries.recurrent


def lstm(*inputs):
    return ops.lstm(*inputs)[0]


def gru(*inputs):
    return ops.gru(*inputs, reset_after=True)[0]


def walks(program):
    return [step.op for step in program.steps if step.kernel == "cuDNN's RNN"]


@pytest.mark.parametrize("name", first_of_each(ROWS))
def test_a_row_is_the_references(name):
    case = CASES[name]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    program = assert_same((with_gradients if case.order else trace)(case.op, *arrays), arrays, 1e-5)
    assert walks(program)


@pytest.mark.parametrize("kind, error", KINDS)
@pytest.mark.parametrize("layer, arrays", [(lstm, LSTM), (gru, GRU)], ids=["lstm", "gru"])
def test_a_layer_and_its_gradients_are_whole(layer, arrays, kind, error):
    arrays = [a.astype(kind) for a in arrays]
    program = assert_same(with_gradients(layer, *arrays), arrays, error)
    mode = layer.__name__.upper()
    assert walks(program) == [mode, f"{mode}Grad"]
    assert walks(assert_same(trace(layer, *arrays), arrays, error)) == [mode]


def all_states(*inputs):
    y, h, c = ops.lstm(*inputs)
    return ops.add(ops.sum(y, 1), ops.mul(h, ops.tanh(c)))


def last_cell(*inputs):
    return ops.lstm(*inputs)[2]


def from_the_end(*inputs):
    y, h, _ = ops.lstm(*inputs, backwards=True)
    return ops.add(y, ops.reshape(h, (3, 1, 4)))


@pytest.mark.parametrize("function", [all_states, last_cell, from_the_end])
def test_last_states_and_their_gradients(function):
    """The gradient of an unused output is zero."""
    program = assert_same(with_gradients(function, *LSTM), LSTM, 1e-5)
    assert walks(program) == ["LSTM", "LSTMGrad"]


def two_lstms(x, wx, wh, b, h, c, wx2, h2, c2, *between):
    y = ops.lstm(x, wx, wh, b, h, c)[0]
    y = ops.mul(y, *between) if between else y
    return ops.lstm(y, wx2, wh, b, h2, c2)[0]


def two_grus(x, wx, wh, b, h, wx2, h2):
    return ops.gru(gru(x, wx, wh, b, h), wx2, wh, b, h2, reset_after=True)[0]


def three_lstms(*inputs):
    return ops.lstm(two_lstms(*inputs), inputs[6], *inputs[2:6])[0]


TWO_LSTMS = [*LSTM, *drawn((4, 16), (3, 4), (3, 4))]
TWO_GRUS = [*GRU, *drawn((4, 12), (3, 4))]
STACKS = {
    "lstms": (two_lstms, TWO_LSTMS, 1),
    "three": (three_lstms, TWO_LSTMS, 1),
    "grus": (two_grus, TWO_GRUS, 1),
    "something between": (two_lstms, [*TWO_LSTMS, *drawn((4,))], 2),
}


@pytest.mark.parametrize("function, arrays, walked", STACKS.values(), ids=STACKS)
def test_layers_on_one_another_are_one(function, arrays, walked):
    """cuDNN pipelines the time steps of stacked layers."""
    for make in (trace, with_gradients):
        program = assert_same(make(function, *arrays), arrays, 1e-5)
        assert len(walks(program)) == walked * (1 if make is trace else 2)


def between_narrow_numbers(x, *rest):
    """Casts around recurrent layers as a bfloat16 network does."""
    y = ops.lstm(ops.cast(x, "float32"), *rest[:5])[0]
    z = ops.lstm(ops.cast(ops.cast(y, "bfloat16"), "float32"), rest[5], *rest[1:3], *rest[6:])[0]
    return ops.cast(z, "bfloat16")


def read_in_float32(x, *rest):
    return ops.lstm(ops.cast(x, "float32"), *rest[:5])[0]


@pytest.mark.parametrize("function", [between_narrow_numbers, read_in_float32])
def test_layers_between_narrow_numbers_take_and_give_them(function):
    arrays = [TWO_LSTMS[0].astype(ml_dtypes.bfloat16), *TWO_LSTMS[1:]]
    kind = "float32" if function is read_in_float32 else "bfloat16"
    for make in (trace, with_gradients):
        program = assert_same(make(function, *arrays), arrays, 3e-2)
        steps = [step for step in program.steps if step.kernel == "cuDNN's RNN"]
        assert {step.node.outputs[0].spec.dtype for step in steps} == {kind}
        assert len(steps) == (1 if make is trace else 2)


def test_a_cudnn_without_bfloat16_goes_on_in_float32(adapter, monkeypatch):
    """As in versions before 9.13."""
    describe = adapter.library.cudnnSetRNNDescriptor_v8
    monkeypatch.setattr(adapter, "layers", {})
    monkeypatch.setattr(
        adapter.library,
        "cudnnSetRNNDescriptor_v8",
        lambda *words: 3000 if words[6] == cudnn_rnn_api.TYPES["bfloat16"] else describe(*words),
    )
    arrays = [TWO_LSTMS[0].astype(ml_dtypes.bfloat16), *TWO_LSTMS[1:]]
    program = assert_same(trace(between_narrow_numbers, *arrays), arrays, 3e-2, runs=1)
    walked = [step for step in program.steps if step.kernel == "cuDNN's RNN"]
    assert [step.node.outputs[0].spec.dtype for step in walked] == ["float32"] * 2


MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]], np.float32)
PEEPHOLES = uniform(9, 12).astype(np.float32)
OTHERS = {
    "slope": (ops.lstm, LSTM, {"slope": 0.2}, "Lstm without cuDNN: its gates are sigmoids"),
    "mask": (ops.lstm, LSTM, {"mask": MASK}, "Lstm without cuDNN: its sequences have no masks"),
    "keep": (ops.lstm, LSTM, {"keep": MASK}, "Lstm without cuDNN: its sequences have no masks"),
    "peepholes": (
        ops.lstm,
        LSTM,
        {"peepholes": PEEPHOLES},
        "Lstm without cuDNN: its LSTMs have no peepholes",
    ),
    "reset before": (ops.gru, EARLY, {}, "Gru without cuDNN: its GRUs reset after the product"),
    "simple": (ops.simple_rnn, SIMPLE, {}, "SimpleRnn without cuDNN: only LSTMs and GRUs go to it"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_cudnn_has_not_is_made_of_our_kernels_and_said(name):
    function, arrays, options, line = OTHERS[name]
    graph = trace(lambda *inputs: function(*inputs, **options)[0], *arrays)
    program = assert_same(graph, arrays, 1e-5, runs=1)
    assert not walks(program)
    assert f"\n{line}\n" in program.describe()


def test_what_the_library_refuses_is_made_of_our_kernels_and_said(adapter, monkeypatch):
    monkeypatch.setattr(adapter, "layers", {})
    monkeypatch.setattr(adapter.library, "cudnnSetRNNDescriptor_v8", lambda *words: 3000)
    program = assert_same(trace(lstm, *LSTM), LSTM, 1e-5, runs=1)
    assert not walks(program)
    assert "Lstm without cuDNN: cuDNN failed: CUDNN_STATUS_NOT_SUPPORTED" in program.describe()


def test_without_memory_nothing_takes_over(adapter, monkeypatch):
    """Our own kernels would round in another way than those of the other workers."""
    refusing = SimpleNamespace(
        cudnnCreate=lambda made: 4004, cudnnGetErrorString=adapter.library.cudnnGetErrorString
    )
    monkeypatch.setattr(adapter, "layers", {})
    monkeypatch.setattr(adapter.library, "cudnnSetRNNDescriptor_v8", lambda *words: 4004)
    with pytest.raises(MemoryError, match=r"cuDNN has no memory: .*ALLOCATION_FAILED; smaller"):
        compile(trace(lstm, *LSTM), "cuda")
    monkeypatch.setattr(cudnn_rnn_api, "library", lambda: refusing)
    with pytest.raises(MemoryError, match="cuDNN has no memory"):
        cudnn_rnn.load_adapter(None)


@pytest.mark.parametrize("tf32, math", [(False, 3), (True, 0)])
def test_float32_is_rounded_only_where_it_may_be(adapter, monkeypatch, tf32, math):
    seen, make = [], cudnn_rnn.RnnDescriptor
    monkeypatch.setattr(adapter, "layers", {})
    monkeypatch.setattr(cudnn_rnn, "RnnDescriptor", lambda *a: seen.append(a) or make(*a))
    compile(trace(lstm, *LSTM), "cuda", tf32=tf32)
    assert [words[7] for _, kind, _, *words in seen if kind == "RNNDescriptor"] == [math]


def test_nothing_is_allocated_once_a_program_is_made(adapter):
    program, log = compile(with_gradients(lstm, *LSTM), "cuda"), adapter.driver.log
    for _ in range(2):
        dict(program.run(feeds(LSTM)))
    start = len(log)
    program.run(feeds(LSTM))
    assert not {"allocate", "pinned", "begin", "library"} & {call[0] for call in log[start:]}


def test_flops_are_those_of_the_operation():
    graph = with_gradients(lstm, *LSTM)
    assert compile(graph, "cuda").graph.flops == graph.flops


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cudnn_rnn_api, "NAMES", ("libcudnn.so.none",))
    with pytest.raises(UnsupportedError, match="cuDNN was not found: pip install nvidia-cudnn"):
        cudnn_rnn.load_adapter(None)


# The double itself must reject what would be wrong on a real GPU.


def no_workspace(layer):
    layer.work = dict.fromkeys(layer.work, 0)


def another_length(layer):
    layer.x = layer.sequences(0, 7)


def fewer_weights(layer):
    layer.bytes -= 4


@pytest.mark.parametrize("spoil", [no_workspace, another_length, fewer_weights])
def test_the_double_refuses(adapter, monkeypatch, spoil):
    monkeypatch.setattr(adapter, "layers", {})
    program = compile(trace(lstm, *LSTM), "cuda")
    [layer] = adapter.layers.values()
    spoil(layer)
    with pytest.raises(DeviceError, match="CUDNN_STATUS_BAD_PARAM"):
        dict(program.run(feeds(LSTM)))
    program.device.stream.queue.clear()  # drops the work queued after the failure
