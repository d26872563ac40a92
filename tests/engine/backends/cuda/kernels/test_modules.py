"""Every kernel compiles for each supported compute capability, without register spills.

Needs NVRTC (the package nvidia-cuda-nvrtc), but no device.
"""

import re
from pathlib import Path

import pytest

from sparkdl.engine.backends import cuda as package
from sparkdl.engine.backends.cuda.device import nvrtc
from sparkdl.engine.backends.cuda.kernels import modules
from sparkdl.engine.backends.cuda.kernels.chain_source import APART, DENSE, SHARED
from sparkdl.engine.backends.cuda.kernels.expressions import OPERATIONS
from sparkdl.engine.backends.cuda.lowerings import chains
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.ops.shape import CastOp
from sparkdl.errors import UnsupportedError
from tests.engine.backends.cuda.lowerings.test_chains import OPERANDS, OPTIONS
from tests.support.tables import slow

SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
ACTIVE = {"AFTER(a)": "a <= 0 ? 0 : a"}
WINDOWS = {"SIZE0": 1, "STRIDE0": 1, "DILATION0": 1, "COUNT_PADDING": 1, "UNROLL": 64}
WINDOWS |= {f"{name}{i}": n for i in (1, 2) for name, n in (("SIZE", 3), ("STRIDE", 2))}
NARROW = {"T": "bfloat16", "R": "bfloat16", "BIAS": "float32", **ACTIVE}
FAMILIES = {
    "channels.cu": [{"T": "bfloat16", "G": "float32"}, {"T": "float32", "G": "float32"}],
    "combine.cu": [{"T": "float32"}, {"T": "bfloat16"}],
    "conv.cu": [NARROW, NARROW | {"T": "float32", "R": "float32"}],
    "decode.cu": [{"S": "uint8", "T": kind} for kind in ("float32", "bfloat16")],
    "draw.cu": [{"NORMAL": 0}, {"NORMAL": 1}],
    "gather.cu": [{"T": "bfloat16", "I": "int64", "MISSING": "NAN", "CHUNK": 64}],
    "gemm.cu": [NARROW | {"SCALE": "0.5f"}],
    "join.cu": [{"T": "uint32", "V": 4, "MOST": 64}, {"T": "uint8", "V": 1, "MOST": 64}],
    "lrn.cu": [{"T": "bfloat16"}],
    "lrn_channels.cu": [
        {"T": "bfloat16", "V": 8, "ACROSS": 2, "BETA": "0.75f"},
        {"T": "float32", "V": 4, "ACROSS": 2, "BETA": "0.6f"},
    ],
    "pool.cu": [
        {"T": "bfloat16", "P": "uint8", "V": 8, "DILATION1": 1, "DILATION2": 1} | WINDOWS,
        {"T": "float32", "P": "int32", "V": 4, "DILATION1": 1, "DILATION2": 2} | WINDOWS,
        {"T": "float64", "P": "int32", "V": 1, "DILATION1": 1, "DILATION2": 1}
        | WINDOWS
        | {"SIZE1": 12, "SIZE2": 12, "COUNT_PADDING": 0, "UNROLL": 1},
    ],
    "reduce.cu": [
        {"T": "bfloat16", "A": "float32", "R": "float32", "MAXIMUM": 0},
        {"T": "int32", "A": "int32", "R": "int32", "MAXIMUM": 1},
    ],
    "reduce_together.cu": [
        {"T": "bfloat16", "A": "float32", "MAXIMUM": 0, "V": 8},
        {"T": "float32", "A": "float32", "MAXIMUM": 1, "V": 4},
    ],
    "relayout.cu": [{"T": "uint16"}],
    "resize.cu": [{"T": "bfloat16"}],
    "reverse.cu": [{"T": "bfloat16", "M": "float32"}],
    "softmax.cu": [
        {"T": "bfloat16", "L": "int64", "LOGARITHM": 1},
        {"T": "float64", "L": "int32", "LOGARITHM": 0},
    ],
    "space_to_depth.cu": [
        {"T": "float32", "R": "bfloat16", "BLOCK": 4, "OUT": 48, "CHANNELS": 3},
        {"T": "bfloat16", "R": "bfloat16", "BLOCK": 2, "OUT": 16, "CHANNELS": 3},
    ],
    "unfold.cu": [{"T": "bfloat16"}],
}
QUICK = {"gemm.cu", "softmax.cu"}  # files; to compile all takes too long
ROWS = [(file, types, (9, 0)) for file, rows in FAMILIES.items() for types in rows]
ROWS = [row if row[0] in QUICK else slow(*row) for row in ROWS]
OTHERS = [(file, rows[0], c) for file, rows in FAMILIES.items() for c in ((8, 0), (10, 0))]
ROWS += [slow(*row) for row in OTHERS]


@pytest.fixture(scope="module", autouse=True)
def compiler():
    try:
        return nvrtc.library()
    except UnsupportedError as error:
        pytest.skip(str(error))


def assert_in_registers(text, capability):
    code, said = nvrtc.compile_module(text, capability, "--ptxas-options=-v")
    assert code[:4] == b"\x7fELF"
    found = SPILLS.findall(said)
    assert found and set(found) == {("0", "0", "0")}, said


def test_every_file_has_a_row():
    folder = Path(package.__file__).with_name("kernels") / "source"
    assert sorted(f.name for f in folder.glob("*.cu")) == sorted(FAMILIES)


@pytest.mark.parametrize("file, types, capability", ROWS, ids=str)
def test_a_family(file, types, capability):
    assert_in_registers(modules.of_family(file, tuple(types.items())), capability)


def everything():
    """Returns a chain of every operation, applied to the same two numbers."""
    steps = []
    for op in sorted(OPERATIONS, key=lambda op: op.kind):
        count = OPERANDS.get(op.kind, 1)
        steps.append((op(*OPTIONS.get(op, ())), (0, 1, 0)[:count]))
    return ChainOp(tuple(steps), tuple(range(len(steps))))


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.slow
@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)], ids=str)
def test_a_chain_of_every_operation(kind, capability):
    op = everything()
    lies = (DENSE, SHARED, *(DENSE,) * len(op.steps))
    outputs = tuple("float32" if "Cast" in str(step) else kind for step, _ in op.steps)
    assert_in_registers(chains.text(op, (kind, kind), outputs, lies, 0, 4, False), capability)


@pytest.mark.parametrize("kinds", [("uint8", "float32"), ("float16", "float64"), ("int64", "bool")])
def test_a_chain_in_any_layout(kinds):
    op = ChainOp(((CastOp(kinds[1]), (0,)),), (0,))
    text = chains.text(op, kinds[:1], kinds[1:], (APART, APART), 3, 1, True)
    assert_in_registers(text, (9, 0))


def test_what_is_wrong_is_told():
    with pytest.raises(UnsupportedError, match='identifier "y" is undefined'):
        nvrtc.compile_module(modules.complete_source("__device__ int x = y;"), (9, 0))
