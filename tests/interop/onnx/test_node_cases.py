"""The node tests of the onnx package: each gives the expected numbers or a named refusal."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests

from sparkdl.errors import SparkdlError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunction, read_onnx
from sparkdl.interop.onnx.messages import graphs_of
from tests.interop.onnx.models import saved

CONTROL = {"If", "Loop", "Scan", "SequenceMap"}
REFUSED = {  # number of counted tests by operation
    "Bernoulli": 3,  # random numbers
    "Dropout": 4,  # random numbers, in training
    "ImageDecoder": 9,  # data readers decode images
    "Not": 3,  # opset 1
    "RandomUniformLike": 3,  # random numbers
}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.fixture(scope="module")
def cases():
    found = load_model_tests(kind="node")
    return [
        case for case in found if all(node.domain in ("", "ai.onnx") for node in nodes_of(case))
    ]


def nodes_of(case):
    return [node for graph in graphs_of(case.model.graph) for node in graph.node]


def counts(case):
    """Returns whether a test counts: one without control flow and strings."""
    ops = {node.op_type for node in nodes_of(case)}
    values = [*case.model.graph.input, *case.model.graph.output]
    return not ops & CONTROL and not any("elem_type: 8\n" in str(value.type) for value in values)


def array_of(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def is_close(ours, theirs, case):
    """Returns whether a value matches: an array and its type, a list of them, or None."""
    if isinstance(theirs, list) or theirs is None:
        pairs = zip(ours or [], theirs or [], strict=True)
        return all(is_close(a, b, case) for a, b in pairs)
    theirs = np.asarray(array_of(theirs))
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if theirs.dtype.kind in "biuOSU":
        return np.array_equal(ours, theirs)
    steps = 2**-7 if theirs.dtype.name == "bfloat16" else 0  # one unit of its precision
    limits = {"rtol": max(case.rtol, steps), "atol": max(case.atol, 1e-6), "equal_nan": True}
    return np.allclose(ours.astype(np.float64), theirs.astype(np.float64), **limits)


def runs_right(case, path):
    """Returns whether a case gives the expected outputs for all of its data sets."""
    function = OnnxFunction(path)
    for given, wanted in case.data_sets:
        inputs = dict(zip(function.inputs, map(array_of, given), strict=True))
        ours = function.run(inputs).values()
        if not all(is_close(*pair, case) for pair in zip(ours, wanted, strict=True)):
            return False
    return True


def trains_right(case, path):
    net = read_onnx(path)
    given, wanted = case.data_sets[0]
    inputs = dict(zip(net.network.conf.input_shapes, map(array_of, given), strict=True))
    ours = net.run({name: np.asarray(array) for name, array in inputs.items()}).values()
    return all(is_close(*pair, case) for pair in zip(ours, wanted, strict=True))


def sort(cases, is_right, folder):
    """Returns the cases that are (right, wrong, refused)."""
    right, wrong, refused = [], [], []
    for case in cases:
        try:
            is_fine = is_right(case, saved(case.model, folder))
        except SparkdlError:
            refused.append(case)
        else:
            (right if is_fine else wrong).append(case)
    return right, wrong, refused


def cause_of(case):
    """Returns the first operation of a refused case that is in REFUSED, else its first one."""
    ops = [node.op_type for node in nodes_of(case)]
    return next((op for op in ops if op in REFUSED), ops[0])


def test_functions_give_the_numbers_of_each(cases, tmp_path):
    right, wrong, refused = sort(cases, runs_right, tmp_path)
    assert not [case.name for case in wrong]
    assert Counter(map(cause_of, filter(counts, refused))) == REFUSED
    assert sum(map(counts, right)) >= 0.98 * sum(map(counts, cases))


def test_networks_give_the_numbers_of_those_that_have_layers(cases, tmp_path):
    right, wrong, _ = sort(cases, trains_right, tmp_path)
    assert not [case.name for case in wrong]
    assert len(right) >= 130


def test_each_refusal_has_its_reason(cases, tmp_path):
    [case] = [case for case in cases if case.name == "test_image_decoder_decode_png_rgb"]
    with pytest.raises(UnsupportedError, match=r"output \(ImageDecoder\): the operation is not"):
        OnnxFunction(saved(case.model, tmp_path))
