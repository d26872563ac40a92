"""Windows over one axis, against onnxruntime."""

import numpy as np
import pytest

from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

LINE = (4, 9)
WINDOW = {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}
STATISTICS = {"g": drawn(1, 4), "h": drawn(2, 4), "m": drawn(3, 4), "v": np.abs(drawn(4, 4))}
FILTERS = {"w": drawn(1, 6, 4, 3), "b": drawn(2, 6)}
CASES = {
    "convolution": ([node("Conv", "x", "w", "b", pads=[1, 0], strides=[2])], FILTERS),
    "dilated convolution": ([node("Conv", "x", "w", dilations=[2])], FILTERS),
    "convolution in groups": (
        [node("Conv", "x", "w", group=2, kernel_shape=[3])],
        {"w": drawn(1, 6, 2, 3)},
    ),
    "transposed convolution": (
        [node("ConvTranspose", "x", "w", "b", strides=[2], pads=[1, 0], output_padding=[1])],
        {"w": drawn(1, 4, 5, 3), "b": drawn(2, 5)},
    ),
    "largest": ([node("MaxPool", "x", **WINDOW)], {}),
    "mean": ([node("AveragePool", "x", count_include_pad=1, **WINDOW)], {}),
    "mean of all": ([node("GlobalAveragePool", "x")], {}),
    "largest of all": ([node("GlobalMaxPool", "x")], {}),
    "batch norm": ([node("BatchNormalization", "x", "g", "h", "m", "v")], STATISTICS),
    "text": (
        [
            node("Conv", "x", "w", "b", to="c"),
            node("Relu", "c", to="r"),
            node("MaxPool", "r", to="p", kernel_shape=[2], strides=[2]),
            node("ReduceMax", "p", axes=[2], keepdims=0),
        ],
        FILTERS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_onnxruntime(name, tmp_path):
    nodes, constants = CASES[name]
    read = {each for made in nodes for each in made.input}
    made = model(nodes, LINE, {key: value for key, value in constants.items() if key in read})
    net = read_onnx(saved(made, tmp_path))
    for n in (1, 3):
        x = drawn(n, n, *LINE)
        y, theirs = net.run(x)["y"], expected(made, x)
        assert y.shape == theirs.shape
        np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-5)
