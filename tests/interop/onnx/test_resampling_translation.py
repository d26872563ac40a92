"""Margins of copies and linear interpolation, compared with onnxruntime."""

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

IMAGE, SEQUENCE = (3, 6, 5), (7, 4)
PADS = {
    IMAGE: np.array([0, 0, 1, 2, 0, 0, 3, 0]),
    SEQUENCE: np.array([0, 2, 0, 0, 1, 3]),
    (6,): np.array([0, 2, 0, 4]),
}
SCALES = {IMAGE: [1, 1, 2, 3], (3, 4, 8): [1, 1, 1.5, 0.5], SEQUENCE: [1, 2, 1], (5,): [1, 1.4]}
PARTS = {(3, 4, 9): [1, 1, 1.5, 0.5], (5,): [1, 1.7]}
WAYS = ["asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"]


def read_and_compare(made, shape, folder):
    x = drawn(3, 4, *shape)
    y, theirs = read_onnx(saved(made, folder)).run(x)["y"], expected(made, x)
    assert y.shape == theirs.shape
    np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["edge", "reflect"])
@pytest.mark.parametrize("shape", PADS, ids=str)
def test_margins_are_copies(shape, mode, tmp_path):
    made = model([node("Pad", "x", "p", mode=mode)], shape, {"p": PADS[shape]})
    read_and_compare(made, shape, tmp_path)


NUMBERS = {  # amounts at the beginning and at the end of each axis
    "lines": ((3, 7), [0, 0, 2, 0, 0, 1]),
    "steps": (SEQUENCE, [0, 2, 0, 0, 1, 3]),
    "channels": (IMAGE, [0, 1, 1, 2, 0, 0, 3, 0]),
    "images": (IMAGE, [0, 0, 1, 2, 0, 0, 3, 0]),
    "rows": ((6,), [0, 2, 0, 4]),
    "volumes": ((2, 3, 4, 3), [0, 0, 1, 0, 2, 0, 0, 1, 3, 0]),
    "nothing": ((6,), [0, 0, 0, 0]),
}


@pytest.mark.parametrize("number", [0, 1.5, -2])
@pytest.mark.parametrize("name", NUMBERS)
def test_margins_are_a_number(name, number, tmp_path):
    shape, amounts = NUMBERS[name]
    constants = {"p": np.array(amounts), "c": np.array(number, np.float32)}
    read_and_compare(model([node("Pad", "x", "p", "c")], shape, constants), shape, tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SCALES | PARTS, ids=str)
def test_numbers_between_are_interpolated(shape, way, tmp_path):
    made = resized(shape, (SCALES | PARTS)[shape], way)
    read_and_compare(made, shape, tmp_path)


@pytest.mark.parametrize("shape", SCALES, ids=str)
def test_corners_may_be_aligned(shape, tmp_path):
    read_and_compare(resized(shape, SCALES[shape], "align_corners"), shape, tmp_path)


def resized(shape, scales, way):
    options = {"mode": "linear", "coordinate_transformation_mode": way}
    constants = {"k": np.array(scales, np.float32)}
    return model([node("Resize", "x", "", "k", **options)], shape, constants, opset=19)


def test_sizes_may_be_given_for_some_axes(tmp_path):
    options = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    nodes = [node("Resize", "x", "", "", "n", axes=[3, 2], **options)]
    made = model(nodes, IMAGE, {"n": np.array([4, 11])}, opset=18)
    read_and_compare(made, IMAGE, tmp_path)


CORNERS = {"coordinate_transformation_mode": "align_corners"}
REFUSED = {
    "a margin longer than the image": (
        [node("Pad", "x", "p", mode="reflect")],
        {"p": np.array([0, 0, 6, 0, 0, 0, 0, 0])},
        r"margins \(6, 0\) of 6",
    ),
    "a margin of the batch": (
        [node("Pad", "x", "p", mode="edge")],
        {"p": np.array([1, 0, 0, 0, 0, 0, 0, 0])},
        "margins of the batch",
    ),
    "less than nothing": (
        [node("Pad", "x", "p", mode="edge")],
        {"p": np.array([0, 0, -1, 0, 0, 0, 0, 0])},
        r"margins \(-1, 0\) of 6",
    ),
    "infinite margins": (
        [node("Pad", "x", "p", "c")],
        {"p": np.array([0, 0, 1, 0, 0, 0, 0, 0]), "c": np.array(-np.inf, np.float32)},
        "margins of -inf",
    ),
    "infinite margins that are an output": (
        [node("Pad", "x", "p", "c"), node("MaxPool", "y", to="z", kernel_shape=[2, 2])],
        {"p": np.array([0, 0, 1, 0, 0, 0, 0, 0]), "c": np.array(-np.inf, np.float32)},
        "margins of -inf",
    ),
    "smoothing": (
        [node("Resize", "x", "", "k", mode="linear", antialias=1)],
        {"k": np.array([1, 1, 0.5, 0.5], np.float32)},
        "antialias=1",
    ),
    "corners of a part": (
        [node("Resize", "x", "", "k", mode="linear", **CORNERS)],
        {"k": np.array([1, 1, 1, 0.5], np.float32)},
        "align_corners of 5 by 0.5",
    ),
    "cubes": (
        [node("Resize", "x", "", "k", mode="cubic")],
        {"k": np.array([1, 1, 2, 2], np.float32)},
        "mode=cubic",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_layer_does_is_named(name, tmp_path):
    nodes, constants, message = REFUSED[name]
    path = saved(model(nodes, IMAGE, constants, opset=18), tmp_path)
    with pytest.raises(UnsupportedError, match=message):
        read_onnx(path)


LONG = (160_000,)
TOO_LARGE = {
    "margins": (node("Pad", "x", "p", mode="reflect"), {"p": np.array([0, 2, 0, 2])}),
    "interpolation": (node("Resize", "x", "", "p", mode="linear"), {"p": np.float32([1, 0.5])}),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_no_matrix_is_made_that_is_too_large(name, tmp_path):
    made, constants = TOO_LARGE[name]
    path = saved(model([made], LONG, constants, opset=18), tmp_path)
    with pytest.raises(UnsupportedError, match=r"a matrix of \d+ x 160000"):
        read_onnx(path)
