"""ONNX operations on arrays, in cases beyond onnx's own tests, against onnxruntime."""

from itertools import product

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError
from sparkdl.interop.onnx import OnnxFunction, read_onnx
from sparkdl.interop.onnx.forward import control, shapes
from tests.interop.onnx.models import drawn, node, saved
from tests.support.tables import first_of_each

IMAGE, STEPS = drawn(1, 2, 3, 4, 5), drawn(2, 2, 3, 4)
POSITIVE = np.abs(drawn(3, 3)) + np.float32(0.5)
BOXES = {
    "r": np.array([[0, 0, 3, 3], [0.5, 1, 2.5, 3]], np.float32),
    "b": np.array([0, 1]),
}
GRID = {"g": np.random.default_rng(0).uniform(-1.5, 1.5, (2, 3, 3, 2)).astype(np.float32)}
CELLS = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
DOUBLE = {"s": np.array([1, 1, 2, 2], np.float32)}
WIDE_IMAGE = drawn(4, 2, 3, 5, 7)
MORE = {"s": np.array([1, 1, 1.3, 2.6], np.float32)}
LESS = {"s": np.array([1, 1, 0.7, 0.6], np.float32)}
STATISTICS = dict.fromkeys("abmv", POSITIVE)
CEIL = {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 1, 0, 1]}
UP = [node("Upsample", "x", "s", mode="linear")]
APART = {"kernel_shape": [2, 2], "dilations": [1, 2]}
SAME = {"auto_pad": "SAME_UPPER"}
SPARSE = {"kernel_shape": [1, 1], "strides": [1, 5]}
YES = {"c": np.array(True)}
LSTM = {"w": drawn(4, 1, 12, 4), "r": drawn(5, 1, 12, 3)}


def inside(taken):
    """Returns an If node, both of whose branches are this node on images."""
    axes = [f"axis_{i}" for i in range(4)]
    result = helper.make_tensor_value_info(taken.output[0], TensorProto.FLOAT, axes)
    branch = helper.make_graph([taken], "branch", [], [result])
    return [node("If", "c", then_branch=branch, else_branch=branch)]


BACKWARDS = {
    name: np.array([number], np.int64)
    for name, number in {"from": -9, "to": -9, "axis": 1, "step": -2}.items()
}
ENTRIES = {"i": np.array([[[1, -2, 0, 3, 3]]])}  # fewer rows than x
REGIONS = {  # an empty one, one that ends before it begins, and one as usual
    "r": np.array([[0, 0, 0, 0], [3, 3, 1, 2], [0.5, 1, 2.5, 3]], np.float32),
    "b": np.array([0, 1, 1]),
}
MAPS = np.array([[[1, 0.2, 0.1], [-0.3, 2, 0.5]]], np.float32)


def cases():
    """Yields (nodes, x, constants, opset)."""
    yield [node("Slice", "x", *BACKWARDS)], IMAGE, BACKWARDS, 18  # from before the first number
    for end in (2**31 - 1, 2**63 - 1):  # to the first number
        constants = BACKWARDS | {"from": np.array([9]), "to": np.array([end])}
        yield [node("Slice", "x", *constants)], IMAGE, constants, 18
    yield [node("GatherElements", "x", "i", axis=-1)], STEPS, ENTRIES, 18
    for mode in ("avg", "max"):
        yield [node("RoiAlign", "x", "r", "b", mode=mode, output_width=2)], IMAGE, REGIONS, 16
    none = {"r": np.zeros((0, 4), np.float32), "b": np.zeros(0, np.int64)}
    yield [node("RoiAlign", "x", "r", "b", output_width=2)], IMAGE, none, 16
    for align in (0, 1):
        size = {"s": np.array([1, 2, 3, 4])}
        yield [node("AffineGrid", "x", "s", align_corners=align)], MAPS, size, 20
    for opset in (7, 9, 11):
        yield [node("Softmax", "x", axis=1)], STEPS, {}, opset
        yield [node("LogSoftmax", "x")], IMAGE, {}, opset
        yield [node("BatchNormalization", "x", *"abmv")], IMAGE, STATISTICS, opset
        yield [node("ReduceSum", "x", axes=[1, 2], keepdims=0)], IMAGE, {}, opset
        yield [node("Flatten", "x", axis=2)], IMAGE, {}, opset
        yield [node("LSTM", "x", "w", "r", hidden_size=3)], STEPS, LSTM, opset
    begun = LSTM | {"c": np.full((1, 3, 3), 0.9, np.float32)}  # cells beyond the clip
    yield [node("LSTM", "x", "w", "r", "", "", "", "c", hidden_size=3, clip=0.3)], STEPS, begun, 14
    yield [node("Upsample", "x", mode="linear", scales=[1.0, 1.0, 2.0, 3.0])], IMAGE, {}, 7
    yield UP, IMAGE, DOUBLE, 9
    yield inside(node("Upsample", "x", "s", to="z", mode="linear")), IMAGE, DOUBLE | YES, 9
    yield inside(node("Resize", "x", "s", to="z", mode="linear")), IMAGE, DOUBLE | YES, 10
    for mode in ("nearest", "linear"):
        yield [node("Resize", "x", "s", mode=mode)], IMAGE, DOUBLE, 10
    yield [node("Resize", "x", "s", mode="linear")], IMAGE, LESS, 10
    for rounding in ("ceil", "floor"):  # of places that only float32 gives as whole numbers
        options = {"mode": "nearest", "nearest_mode": rounding}
        for way in ("asymmetric", "half_pixel"):
            options |= {"coordinate_transformation_mode": way}
            yield [node("Resize", "x", "", "s", **options)], WIDE_IMAGE, LESS, 13
            yield [node("Resize", "x", "", "s", **options)], WIDE_IMAGE, MORE, 13
    halves = {"z": np.array([1, 3, 19, 4])}  # some places differ from a half by rounding
    nearest, ways = ("round_prefer_floor", "round_prefer_ceil"), ("asymmetric", "half_pixel")
    for rounding, way in product(nearest, ways):
        options = {"nearest_mode": rounding, "coordinate_transformation_mode": way}
        yield [node("Resize", "x", "", "", "z", **options)], drawn(4, 1, 3, 14, 7), halves, 19
    for opset, mode in product((13, 16), ("avg", "max")):
        yield [node("RoiAlign", "x", "r", "b", mode=mode, **CELLS)], IMAGE, BOXES, opset
    modes = {16: ("bilinear", "bicubic", "nearest"), 20: ("linear", "cubic", "nearest")}
    ways = product(("zeros", "border", "reflection"), (0, 1))
    for (padding, align), opset in product(ways, modes):
        for mode in modes[opset]:
            options = {"mode": mode, "padding_mode": padding, "align_corners": align}
            yield [node("GridSample", "x", "g", **options)], IMAGE, GRID, opset
    yield [node("DFT", "x")], STEPS[..., None], {}, 17
    for counts in (0, 1):
        yield [node("AveragePool", "x", count_include_pad=counts, **CEIL)], IMAGE, {}, 19
    yield [node("MaxPool", "x", dilations=[2, 1], **CEIL)], IMAGE, {}, 13
    for mode, alias, outside in product(("linear", "cubic"), (0, 1), (0, 1)):
        options = {"mode": mode, "antialias": alias, "exclude_outside": outside}
        if (mode, alias, outside) != ("linear", 0, 1):  # onnxruntime refuses that one
            yield [node("Resize", "x", "", "s", **options)], IMAGE, LESS, 19

    depthwise = {"w": drawn(6, 3, 1, 3, 2), "b": drawn(7, 3)}
    options = {"group": 3, "strides": [2, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2]}
    yield [node("Conv", "x", "w", "b", **options)], IMAGE, depthwise, 18
    pairs = {"w": drawn(6, 2, 2, 3, 2)}
    yield [node("Conv", "x", "w", group=2, pads=[0, 1, 1, 0])], IMAGE[:, [0, 1, 2, 0]], pairs, 18
    wide = {"w": drawn(6, 6, 2, 3, 2)}
    yield [node("Conv", "x", "w", group=2)], IMAGE[:, [0, 1, 2, 0]], wide, 18
    scale = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "y", "z"])
    yield [scale], np.zeros((2, 3), np.float32), {}, 18
    for first in (-0.1, 0.3):  # up to the last number, which float32 must not find outside
        region = {"r": np.array([0, 0, 0, first, 1, 1, 1, 1], np.float32)}
        for n in (9, 11, 14):
            crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
            sizes = {"n": np.array([2, 3, 9, n])}
            yield [node("Resize", "x", "r", "", "n", **crop)], IMAGE, region | sizes, 13
    for pad in ("SAME_UPPER", "SAME_LOWER"):  # with the last place in no window
        gaps = {"kernel_shape": [1, 1], "strides": [2, 3], "auto_pad": pad}
        yield [node("AveragePool", "x", **gaps)], IMAGE, {}, 19


CASES = list(cases())


def graph_of(nodes, x, constants=None, opset=18, shape=()):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    stored = [numpy_helper.from_array(v, name) for name, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", inputs, [y], stored)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(
    "row",
    first_of_each(range(len(CASES)), lambda row: CASES[row][0][0].op_type),
    ids=lambda r: f"{r}-{CASES[r][0][0].op_type}",
)
def test_numbers_are_those_of_onnxruntime(row, tmp_path):
    nodes, x, constants, opset = CASES[row]
    content = graph_of(nodes, x, constants, opset).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    [theirs] = session.run(["y"], {"x": x})
    made = graph_of(nodes, x, constants, opset, theirs.shape)
    ours = OnnxFunction(saved(made, tmp_path)).run({"x": x})["y"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "constants", "opset", "says"),
    [
        ([node("Hardmax", "x")], {}, 11, "'Hardmax'] of opset 11 is not supported"),
        (inside(node("Hardmax", "x", to="z")), YES, 11, "'Hardmax'] of opset 11 is not supported"),
        ([node("Resize", "x", "s")], LESS, 10, "a Resize of opset 10 to fewer pixels"),
        *(
            ([node(op, "x", **APART, **SAME)], {}, 19, "SAME_UPPER with dilations=.1, 2. is not")
            for op in ("AveragePool", "LpPool", "MaxPool")
        ),
        *(
            ([node(op, "x", **SAME, **SPARSE)], {}, 19, "SAME_UPPER that leaves out 4 of 5 places")
            for op in ("AveragePool", "LpPool", "MaxPool")
        ),
        (
            inside(node("Resize", "x", "s", to="z")),
            LESS | YES,
            10,
            "a Resize of opset 10 to fewer pixels",
        ),
        ([node("Relu", "x")], {}, 6, "opset must be of 7 to"),
        ([node("RandomNormalLike", "x")], {}, 18, r"y \(RandomNormalLike\): the operation is not"),
        (
            [node("Resize", "x", "r", "s", coordinate_transformation_mode="tf_half_pixel_for_nn")],
            DOUBLE | {"r": np.zeros(0, np.float32)},
            12,
            "tf_half_pixel_for_nn is not supported",
        ),
    ],
)
def test_what_would_give_other_numbers_is_refused(nodes, constants, opset, says, tmp_path):
    made = graph_of(nodes, IMAGE, constants, opset, IMAGE.shape)
    with pytest.raises(UnsupportedError, match=says):
        OnnxFunction(saved(made, tmp_path)).run({"x": IMAGE})


@pytest.mark.parametrize("size", [1, 1000])
def test_a_constant_has_no_variance(size, tmp_path):
    """By the formula of MeanVarianceNormalization; onnxruntime divides 0 by 0."""
    x = np.full((2, 3, 5, 7), 1.1 * size, np.float32)
    made = graph_of([node("MeanVarianceNormalization", "x")], x, opset=13, shape=x.shape)
    y = OnnxFunction(saved(made, tmp_path)).run({"x": x})["y"]
    np.testing.assert_allclose(y, 0, atol=1e-5)


def test_inputs_are_those_of_the_file(tmp_path):
    function = OnnxFunction(saved(graph_of([node("Relu", "x")], STEPS), tmp_path))
    with pytest.raises(ConfigError, match=r"inputs must be \['x'\], got \['z'\]"):
        function.run({"z": STEPS})
    with pytest.raises(ConfigError, match="x must be of float32, got float64"):
        function.run({"x": STEPS.astype(np.float64)})
    with pytest.raises(ShapeError, match=r"x must have the shape \[2, 3, 4\], got \(2, 3\)"):
        function.run({"x": STEPS[..., 0]})


NO_ZEROS = {
    **{"s": np.float32(1), "z": np.uint8(1), "w": np.ones((1, 3, 1, 1), np.uint8)},
    "n": np.zeros(0, np.uint8),
}
UNFIT = {
    "Reshape": (node("Reshape", "x", "s"), STEPS, {"s": np.array([5, 5])}, "cannot reshape"),
    "Expand": (node("Expand", "x", "s"), STEPS, {"s": np.array([-5, 1, 1, 1])}, "negative dim"),
    "Split": (node("Split", "x", "s"), STEPS, {"s": np.array([-5])}, ""),
    "AffineGrid": (node("AffineGrid", "x", "s"), MAPS, {"s": np.array([1, 2, 0, 2])}, "size must"),
    "LpPool": (
        *(node("LpPool", "x", kernel_shape=[2, 2], auto_pad="ODD"), IMAGE, {}),
        r"auto_pad must be one of \(.*\), got 'ODD'",
    ),
    "MaxPool": (node("MaxPool", "x", kernel_shape=[9, 9]), IMAGE, {}, "window shape cannot be"),
    "ConvTranspose": (
        *(node("ConvTranspose", "x", "w", pads=[9, 9, 9, 9]), IMAGE, {"w": drawn(6, 3, 1, 2, 2)}),
        "padding must be at most",
    ),
    "Pad": (node("Pad", "x", "p"), STEPS, {"p": np.array([-3, 0, 0, 3, 0, 0])}, "padding must"),
    "DepthToSpace": (node("DepthToSpace", "x", blocksize=2**31 - 1), IMAGE, {}, "cannot reshape"),
    "QLinearConv": (
        *(node("QLinearConv", "q", "s", "z", "w", "s", "n", "s", "z"), IMAGE, NO_ZEROS),
        "out of bounds",
    ),
    "LayerNormalization": (
        helper.make_node("LayerNormalization", ["x", "w"], ["y", "m", "v"], axis=2**63 - 1),
        *(STEPS, {"w": drawn(6, 4)}, "too large"),
    ),
}


@pytest.mark.parametrize("op", UNFIT)
@pytest.mark.parametrize("programs", [0, 1])
def test_what_does_not_fit_names_the_node(op, programs, tmp_path):
    one, x, constants, says = UNFIT[op]
    quantized = [node("Cast", "x", to="q")] if op == "QLinearConv" else []
    for cast in quantized:
        cast.attribute.append(helper.make_attribute("to", TensorProto.UINT8))
    made = graph_of([*quantized, one], x, constants, 20)
    function = OnnxFunction(saved(made, tmp_path), programs)
    with pytest.raises(ShapeError, match=rf"y \({op}\) cannot be computed of inputs of .*{says}"):
        function.run({"x": x})


def test_a_small_file_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "MOST", 1000)
    nodes = [node("ConstantOfShape", "s", to="c"), node("Add", "x", "c")]
    made = graph_of(nodes, STEPS, {"s": np.array([10**6])})
    with pytest.raises(UnsupportedError, match="an array of 1000000 numbers"):
        OnnxFunction(saved(made, tmp_path)).run({"x": STEPS})


def test_padding_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "MOST", 1000)
    for op in ("LpPool", "MaxPool"):
        nodes = [node(op, "x", kernel_shape=[3], pads=[2000, 1])]
        with pytest.raises(UnsupportedError, match="an array of [0-9]+ numbers, more than 1000"):
            OnnxFunction(saved(graph_of(nodes, STEPS), tmp_path), 0).run({"x": STEPS})


def test_what_is_made_is_what_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "MOST", 4 * IMAGE.size)
    made = graph_of([node("Resize", "x", "", "s", mode="linear")], IMAGE, DOUBLE, 18, [2, 3, 8, 10])
    assert OnnxFunction(saved(made, tmp_path)).run({"x": IMAGE})["y"].shape == (2, 3, 8, 10)


def test_a_window_over_more_than_all_channels_takes_no_more_memory(tmp_path):
    made = graph_of([node("LRN", "x", size=2**31 - 1, alpha=1e9)], IMAGE)
    near = np.square(IMAGE).sum(axis=1, keepdims=True) * 1e9 / (2**31 - 1)
    ours = OnnxFunction(saved(made, tmp_path)).run({"x": IMAGE})["y"]
    np.testing.assert_allclose(ours, IMAGE / (1 + near) ** 0.75, rtol=1e-5)


def test_axes_that_paddle_leaves_open_are_open(tmp_path):
    made = graph_of([node("Relu", "x")], STEPS)
    made.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    assert OnnxFunction(path).run({"x": STEPS})["y"].shape == STEPS.shape


def test_types_that_are_none_are_refused(tmp_path):
    made = graph_of([node("Relu", "x")], STEPS)
    made.graph.input[0].type.tensor_type.elem_type = 65
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(DataError, match="x has the unknown type 65"):
        OnnxFunction(path).run({"x": STEPS})
    with pytest.raises(UnsupportedError, match="input x must be of .*, got 65; "):
        read_onnx(path)


def test_attributes_must_be_text(tmp_path):
    made = graph_of([node("Resize", "x", "", "s", mode="linear")], IMAGE, DOUBLE, 18, [2, 3, 8, 10])
    made.graph.node[0].attribute[0].s = b"\xff"
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(DataError, match="attributes of Resize must be of known types, and their"):
        OnnxFunction(path)


def test_types_that_an_operation_lacks_are_left_to_numpy(tmp_path):
    made = graph_of([node("QuantizeLinear", "x", "s")], STEPS, {"s": np.array(2)}, 13)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    found = OnnxFunction(path).run({"x": STEPS})["y"]
    assert (found.shape, found.dtype) == (STEPS.shape, np.uint8)


def test_values_are_kept_no_longer_than_they_are_read(tmp_path):
    nodes = [node("Relu", "x", to="a"), node("Neg", "a", to="b"), node("Add", "b", "b")]
    made = graph_of([*nodes, node("Abs", "b", to="unread")], STEPS)
    body = OnnxFunction(saved(made, tmp_path))._programs.body
    values = {"x": STEPS}
    body.compute(values)
    assert values.keys() == {"y"}


def test_a_loop_without_turns_gives_no_rows(tmp_path):
    values = [helper.make_tensor_value_info(name, kind, []) for name, kind in [("i", 7), ("on", 9)]]
    kinds = {"go": (TensorProto.BOOL, []), "rows": (TensorProto.INT32, [2, 3])}
    results = [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()]
    cast = helper.make_node("Cast", ["x"], ["rows"], to=TensorProto.INT32)
    body = helper.make_graph([node("Identity", "on", to="go"), cast], "body", values, results)
    x = drawn(1, 2, 3)
    made = graph_of([node("Loop", "n", "", body=body)], x, {"n": np.array(0)}, shape=["rows", 2, 3])
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    session = onnxruntime.InferenceSession(made.SerializeToString())
    [theirs] = session.run(["y"], {"x": x})
    ours = OnnxFunction(saved(made, tmp_path)).run({"x": x})["y"]
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


def test_a_loop_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "MOST_TURNS", 10)
    inputs = [("i", TensorProto.INT64), ("on", TensorProto.BOOL), ("a", TensorProto.FLOAT)]
    values = [helper.make_tensor_value_info(name, kind, []) for name, kind in inputs]
    results = [helper.make_tensor_value_info(n, k, []) for n, k in [("go", 9), ("b", 1)]]
    nodes = [node("Identity", "on", to="go"), node("Identity", "a", to="b")]
    body = helper.make_graph(nodes, "body", values, results)
    made = graph_of([node("Loop", "", "", "x", body=body)], np.zeros((), np.float32))
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    with pytest.raises(UnsupportedError, match="a Loop of more than 10 turns"):
        OnnxFunction(path).run({"x": np.zeros((), np.float32)})
