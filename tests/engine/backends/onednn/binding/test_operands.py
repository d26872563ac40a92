"""A program is rejected if a oneDNN kernel would misread its memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sparkdl.engine import compile, ops, scope
from sparkdl.engine.backends import get
from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.engine.ops.normalization import BatchNormOp
from sparkdl.errors import OperandError
from tests.engine.cases import CASES
from tests.engine.support import trace, with_gradients
from tests.support.processor import AVX512, needs_avx512

pytestmark = pytest.mark.skipif(get("auto").name != "onednn", reason="libdnnl is not here")
RNG = np.random.default_rng(0)


def numbers(*shape, kind=np.float32):
    return RNG.standard_normal(shape).astype(kind)


def of_case(name):
    case = CASES[name]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    return with_gradients(case.op, *arrays) if case.order else trace(case.op, *arrays)


def with_relu(x, gamma, beta):
    return ops.relu(ops.batch_norm(x, gamma, beta)[0])


def turned_back(x, w, b):
    return ops.relu(ops.add_bias(ops.conv_transpose(x, w, (7, 7)), b, 1))


GRAPHS = {
    "batch_normalization_forward": lambda: with_gradients(
        with_relu, numbers(2, 16, 5, 5), numbers(16), numbers(16)
    ),
    "binary": lambda: trace(ops.add, numbers(4, 6, kind=BFLOAT16), numbers(6, kind=BFLOAT16)),
    "concat": lambda: trace(lambda x, y: ops.concat([x, y], 1), numbers(2, 3), numbers(2, 4)),
    "convolution_forward": lambda: of_case("BiasActivation of Conv"),
    "deconvolution_forward": lambda: trace(
        turned_back, numbers(2, 16, 5, 5), numbers(16, 16, 3, 3), numbers(16)
    ),
    "eltwise_forward": lambda: of_case("Gelu"),
    "gru_forward": lambda: of_case("Gru"),
    "layer_normalization_forward": lambda: of_case("LayerNorm of rows y"),
    "lbr_gru_forward": lambda: of_case("Gru reset after"),
    "lrn_forward": lambda: with_gradients(ops.lrn, numbers(2, 16, 5, 6)),
    "lstm_forward": lambda: of_case("Lstm peepholes"),
    "matmul": lambda: of_case("HeadScores and a bias"),
    "pooling_forward": lambda: of_case("MaxPool"),
    "reorder": lambda: trace(lambda x: ops.cast(x, BFLOAT16), numbers(3, 4)),
    "resampling_forward": lambda: of_case("Resize linear twice"),
    "softmax_forward": lambda: of_case("LogSoftmax of a sequence"),
    "vanilla_rnn_forward": lambda: of_case("SimpleRnn"),
}
BACKWARD = {
    "batch_normalization_backward": "batch_normalization_forward",
    "convolution_backward_data": "convolution_forward",
    "convolution_backward_weights": "convolution_forward",
    "eltwise_backward": "eltwise_forward",
    "gru_backward": "gru_forward",
    "layer_normalization_backward": "layer_normalization_forward",
    "lbr_gru_backward": "lbr_gru_forward",
    "lrn_backward": "lrn_forward",
    "lstm_backward": "lstm_forward",
    "pooling_backward": "pooling_forward",
    "resampling_backward": "resampling_forward",
    "softmax_backward": "softmax_forward",
    "vanilla_rnn_backward": "vanilla_rnn_forward",
}
GRAPHS |= {backward: GRAPHS[forward] for backward, forward in BACKWARD.items()}
WIDE = {"binary", "lrn_backward", "softmax_backward"}  # oneDNN has these only with AVX-512


@dataclass
class Call:
    """A primitive bound by a compiled program: its descriptor and {index: memory}."""

    session: Any
    pd: Any
    memories: dict


@pytest.fixture(params=sorted(GRAPHS))
def call(request, monkeypatch):
    """Returns a compiled program's call of the primitive, the one with the most operands."""
    from sparkdl.engine.backends.onednn.binding.api import OneDnnSession

    found, bound = [], OneDnnSession.bind

    def recorded(session, pd, memories):
        found.append(Call(session, pd, dict(memories)))
        return bound(session, pd, memories)

    monkeypatch.setattr(OneDnnSession, "bind", recorded)
    program = compile(GRAPHS[request.param](), "onednn")
    monkeypatch.undo()
    made = [c for c in found if c.pd.operation == request.param]
    if request.param in WIDE and not AVX512:
        assert not made
        pytest.skip("the processor has no AVX-512")
    assert made, program.describe()
    return max(made, key=lambda c: len(c.memories))


def names():
    from sparkdl.engine.backends.onednn.binding.api import NAMES

    return NAMES


def refused(call, memories, index, pattern):
    text = rf"^{call.pd.operation}: .*{names()[index]} {pattern}"
    with pytest.raises(OperandError, match=text):
        call.session.bind(call.pd, memories)


def test_every_primitive_that_is_described_has_a_row():
    from pathlib import Path
    from re import findall

    from sparkdl.engine.backends import onednn

    sources = [path.read_text() for path in Path(onednn.__file__).parent.rglob("*.py")]
    words = {word for text in sources for word in findall(r'"((?:[a-z]+_)*[a-z]+)"', text)}
    ends = "_forward", "_backward", "_backward_data", "_backward_weights"
    described = {w for w in words if w.endswith(ends)} | words & {"matmul", "binary", "concat"}
    recurrent = {w for w in GRAPHS if w.startswith(("gru", "lbr", "lstm", "vanilla"))}
    assert described == GRAPHS.keys() - recurrent - {"reorder"}


def test_what_a_program_gives_is_taken(call):
    call.session.bind(call.pd, call.memories)


def test_an_operand_that_is_too_small(call):
    """Covers a smaller array, and one shorter than the memory descriptor says."""
    for index, memory in call.memories.items():
        array = memory.array
        fewer = array[..., : array.shape[-1] - 1] if array.shape[-1] > 1 else array[:0]
        few = np.zeros(max(array.size // 2, 1), array.dtype)
        if fewer.size and array.dtype != np.uint8:
            smaller = call.memories | {index: call.session.at(fewer)}
            refused(call, smaller, index, r"needs .* bytes\), got ")
        short = call.memories | {index: call.session.memory(memory.md, few)}
        refused(call, short, index, rf"needs .* bytes\).*, got {few.size} .*\({few.nbytes} bytes")


def test_an_operand_of_another_type(call):
    for index, memory in call.memories.items():
        array = memory.array
        if array.dtype == np.uint8:
            continue  # a byte buffer has no dtype
        kind = BFLOAT16 if array.dtype == np.float32 else "float32"
        other = np.zeros_like(array, kind)
        pattern = rf"needs .* {array.dtype.name} .*, got .* {kind} "
        refused(call, call.memories | {index: call.session.at(other)}, index, pattern)
        wide = np.zeros(array.shape, "int32")
        disguised = call.memories | {index: call.session.memory(memory.md, wide)}
        refused(call, disguised, index, r"needs .*, got .* int32 ")


def test_an_operand_that_is_missing(call):
    for index in call.memories:
        rest = {i: m for i, m in call.memories.items() if i != index}
        refused(call, rest, index, r"needs .* bytes\).*, got nothing")


def test_an_operand_that_nobody_asked_for(call):
    free = next(i for i in names() if i not in call.memories and i > 1024)
    more = call.memories | {free: next(iter(call.memories.values()))}
    refused(call, more, free, "is no operand of it, got ")


def test_an_operand_in_another_order(call):
    """The size fits, but the strides differ."""
    for index, memory in call.memories.items():
        array = memory.array
        if array.ndim < 2 or names()[index] == "workspace" or min(array.shape[-2:]) < 2:
            continue
        other = np.zeros((*array.shape[:-2], *array.shape[:-3:-1]), array.dtype).swapaxes(-1, -2)
        if other.strides != array.strides and call.pd.operation != "reorder":
            refused(call, call.memories | {index: call.session.at(other)}, index, "needs .* apart")


@pytest.mark.parametrize("place, name", [(1, "scale"), (2, "shift")])
def test_a_narrow_scale_of_a_normalization_is_named(place, name):
    """oneDNN always reads float32 scales, twice the bytes of a bfloat16 array."""

    def function(*arrays):
        with scope("bn_1"):
            return BatchNormOp(1e-5)(*arrays)  # ops.batch_norm would widen them

    arrays = [numbers(2, 8, 4, 4), numbers(8), numbers(8)]  # some processors lack bfloat16
    compile(trace(function, *arrays), "onednn")
    arrays[place] = arrays[place].astype(BFLOAT16)
    text = rf"^bn_1 BatchNorm: batch_normalization_forward: {name} needs 8 float32 \(32 bytes\), "
    with pytest.raises(OperandError, match=text + r"got 8 bfloat16 \(16 bytes\)$"):
        compile(trace(function, *arrays), "onednn")


def test_memory_too_small_for_what_lies_there_is_refused():
    session = get("onednn").session
    from_, to = np.zeros(24, np.float32), np.zeros(24, np.float32)
    short = session.memory(session.of(from_), np.zeros(24, np.uint8))
    text = r"source needs 24 float32 \(96 bytes\), got 24 uint8 \(24 bytes\)"
    with pytest.raises(OperandError, match=text):
        session.reorder(short, session.at(to))


@needs_avx512
def test_a_product_of_another_type_gets_a_primitive_of_its_own():
    from sparkdl.engine.backends.onednn.lowerings.recurrent_steps import Products

    products = Products(get("onednn").session)
    x, w = numbers(4, 6), numbers(6, 5)
    np.testing.assert_allclose(products(x, w), x @ w, 1e-5, 1e-6)
    narrow = products(x.astype(BFLOAT16), w.astype(BFLOAT16))
    assert narrow.dtype == BFLOAT16 and len(products.cache) == 2


def test_addresses_are_taken_in_one_place():
    """Ensures that every kernel's addresses are checked against their arrays."""
    from pathlib import Path

    from sparkdl import engine

    folders = [Path(engine.__file__).parent / name for name in ("backends/onednn", "native")]
    found = {p.name for f in folders for p in f.rglob("*.py") if ".ctypes.data" in p.read_text()}
    assert found == {"api.py", "calls.py"}
