"""A GPU program is rejected if a kernel or library would misread one of its arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine import Spec, compile, ops
from sparkdl.engine.backends.cuda.cudnn.normalization_graphs import NormalizationRequest
from sparkdl.engine.backends.cuda.cudnn.plans import launch
from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from sparkdl.engine.backends.cuda.kernels.signatures import KernelFunction, parameters
from sparkdl.engine.backends.cuda.libraries.cublaslt import CublasLt, Product
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn import Cell
from sparkdl.engine.backends.cuda.lowerings.recurrent import check_walk
from sparkdl.errors import OperandError
from tests.engine.cases import CASES
from tests.engine.support import trace, with_gradients

ROWS = {
    "gather": "Gather",
    "gemm": "MatMul False False",
    "lrn": "Lrn within a channel",
    "lrn_channels": "Lrn across channels",
    "max_pool": "MaxPool",
    "mean_pool": "AvgPool all",
    "resize": "Resize linear twice",
}


def there(*shape, kind="float32"):
    return DeviceArray(np.zeros(shape, kind))


@pytest.fixture(params=ROWS)
def call(request, monkeypatch):
    """Returns (kernel, arguments of one of its launches)."""
    made, check = [], KernelFunction.check

    def recorded(kernel, values):
        made.append((kernel, values))
        check(kernel, values)

    monkeypatch.setattr(KernelFunction, "check", recorded)
    case = CASES[ROWS[request.param]]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    compile((with_gradients if case.order else trace)(case.op, *arrays), "cuda")
    monkeypatch.undo()
    return next(one for one in made if one[0].name == request.param)


def refused(call, place, value, pattern):
    kernel, values = call
    text = rf"^{kernel.name}: {kernel.parameters[place].name} needs {pattern}"
    with pytest.raises(OperandError, match=text):
        kernel.check((*values[:place], *value, *values[place + 1 :]))


def typed(call):
    kernel, values = call
    pairs = enumerate(zip(kernel.parameters, values, strict=True))
    return [(i, v) for i, (p, v) in pairs if p.pointer and p.kind and isinstance(v, DeviceArray)]


def test_an_array_of_another_type_is_refused(call):
    assert len(typed(call)) >= 2
    for place, array in typed(call):
        kind = "float16" if array.dtype == np.float32 else "float64"
        other = DeviceArray(np.zeros(array.shape, kind))
        pattern = rf"the address of {array.dtype.name}, got .* {kind} \({other.nbytes} bytes\)"
        refused(call, place, [other], pattern)


def test_a_number_where_an_address_belongs_is_refused(call):
    for place, _ in typed(call):
        refused(call, place, [5], "the address of .*, got 5")


def test_a_missing_value_is_named(call):
    refused(call, len(call[1]) - 1, [], ".*, got nothing")


def test_one_value_too_many_is_refused(call):
    kernel, values = call
    with pytest.raises(OperandError, match=f"{kernel.name} takes {len(values)} values, got"):
        kernel.check((*values, 1))


def test_a_number_of_another_size_is_refused():
    """For an 8-byte parameter, a kernel would read past the end of a 4-byte number."""
    text = 'extern "C" __global__ void twice(u64 count, float factor, const T* x) {}'
    kernel = KernelFunction("twice", None, parameters("typedef float T;\n" + text, "twice"))
    kernel.check((np.uint64(3), 2.0, there(3)))
    for wrong in ((np.uint32(3), 2.0, there(3)), (3, np.float64(2), there(3)), (there(3), 2.0, 1)):
        with pytest.raises(OperandError, match="^twice: "):
            kernel.check(wrong)


REQUEST = NormalizationRequest(
    **{"x": Spec((2, 8, 4, 4), "bfloat16"), "y": Spec((2, 8, 4, 4), "bfloat16")},
    **dict.fromkeys(("gamma", "beta", "mean", "inverse"), Spec((1, 8, 1, 1), "float32")),
    **dict.fromkeys(("last_mean", "last_variance"), Spec((1, 8, 1, 1), "float32")),
    epsilon=1e-5,
)


def graphs_arrays():
    return {n: there(*spec.shape, kind=spec.dtype) for n, spec in REQUEST.arrays.items()}


@pytest.mark.parametrize("name", REQUEST.arrays)
def test_an_array_that_a_graph_was_not_drawn_for_is_refused(name):
    arrays, spec = graphs_arrays(), REQUEST.arrays[name]
    text = rf"cuDNN's normalization: {name} needs .* {spec.dtype} \({spec.nbytes} bytes\), got "
    for wrong in (there(1, 4, 1, 1, kind=spec.dtype), there(*spec.shape, kind="float16")):
        with pytest.raises(OperandError, match=text + rf".* \({wrong.nbytes} bytes\)"):
            launch(None, REQUEST, **(arrays | {name: wrong}))
    del arrays[name]
    with pytest.raises(OperandError, match=text + "nothing"):
        launch(None, REQUEST, **arrays)


@pytest.mark.parametrize(
    "field, wrong",
    [
        ("w", there(1, 5, 3)),
        ("w", there(1, 4, 3, kind="float16")),
        ("y", there(1, 2, 4)),
        ("bias", there(2)),
        ("plus", there(1, 2, 2)),
        ("sums", there(4)),
    ],
    ids=["w", "w of another type", "y", "bias", "plus", "sums"],
)
def test_a_product_beyond_an_array_is_refused(field, wrong):
    arrays = {"x": there(1, 2, 4), "w": there(1, 4, 3), "y": there(1, 2, 3)} | {field: wrong}
    with pytest.raises(OperandError, match=f"^cuBLASLt: {field} needs "):
        CublasLt.calls(None, SimpleNamespace(tf32=False), Product(**arrays))


WALK = {
    "x": there(2, 5, 3),
    "weights": there(70),
    "states": [there(2, 4), there(2, 4)],
    "y": there(2, 5, 4),
    "last": [there(2, 4), there(2, 4)],
    "reserve": there(24, kind="uint8"),
}


@pytest.mark.parametrize("name", WALK)
def test_an_array_that_a_recurrent_layer_would_leave_is_refused(name):
    cell = Cell(mode="LSTM", kind="float32", n=2, steps=5, features=3, units=4)
    layer = SimpleNamespace(cell=cell, weights=70, reserve=24)
    check_walk(layer, **WALK)
    array = WALK[name][0] if isinstance(WALK[name], list) else WALK[name]
    for wrong in (array[:-1], DeviceArray(np.zeros(array.shape, "float16"))):
        many = [WALK[name][0], wrong] if isinstance(WALK[name], list) else wrong
        with pytest.raises(OperandError, match=f"^cuDNN's RNN: {name} needs "):
            check_walk(layer, **(WALK | {name: many}))


def test_the_error_names_the_operation(monkeypatch):
    from sparkdl.engine.backends.cuda.kernels import signatures

    def wider(text, name):
        return tuple(
            signatures.Parameter(p.name, "float64" if p.kind == "float32" else p.kind, p.pointer)
            for p in parameters(text, name)
        )

    monkeypatch.setattr("sparkdl.engine.backends.cuda.execution.session.parameters", wider)
    table, indices = np.ones((3, 4), np.float32), np.zeros(2, np.int32)
    with pytest.raises(OperandError, match="^Gather: gather: table needs the address of float64"):
        compile(trace(ops.gather, table, indices), "cuda")
