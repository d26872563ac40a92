"""Whole nets as programs, against onnxruntime, including the operations that numpy computes."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.interop.onnx import OnnxFunction
from tests.interop.onnx.models import drawn, node, saved

INT = {name: np.array(value) for name, value in {"0": [0], "1": [1], "-1": [-1], "2": [2]}.items()}
NUMBERS = {"three": 3.0, "zero": 0.0, "six": 6.0, "half": 0.5, "less": -0.25}
SCALARS = {name: np.float32(value) for name, value in NUMBERS.items()}


def net(nodes, shape, constants, rank=None, kind=TensorProto.FLOAT):
    """Returns a ModelProto from "x" to "y", which has the rank of x unless `rank` is given."""
    x = helper.make_tensor_value_info("x", kind, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * (rank or len(shape)))
    stored = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def hard_swish(x, to):
    """Returns the nodes of x clip(x + 3, 0, 6) / 6, as Paddle exports it."""
    return [
        node("Add", x, "three", to=f"{to}_a"),
        node("Clip", f"{to}_a", "zero", "six", to=f"{to}_b"),
        node("Mul", x, f"{to}_b", to=f"{to}_c"),
        node("Div", f"{to}_c", "six", to=to),
    ]


def mobile():
    """Convolutions between scales and shifts, squeeze-and-excitation, and a residual."""
    nodes = [
        node("Conv", "x", "w0", pads=[1, 1, 1, 1], strides=[2, 2], to="a"),
        node("BatchNormalization", "a", "g", "b", "m", "v", to="c"),
        *hard_swish("c", "d"),
        node("Mul", "half", "d", to="e"),
        node("Add", "e", "less", to="f"),
        node("Conv", "f", "w1", "b", pads=[1, 1, 1, 1], group=8, to="h"),
        node("Mul", "h", "less", to="i"),
        node("Add", "i", "t", to="j"),
        node("Relu", "j", to="k"),
        node("GlobalAveragePool", "k", to="l"),
        node("Conv", "l", "w2", to="n"),
        node("HardSigmoid", "n", to="o"),
        node("Mul", "k", "o", to="p"),
        node("Conv", "p", "w2", "b", to="q"),
        node("Add", "q", "d", to="r"),
        node("Sigmoid", "r", to="s"),
        node("Mul", "r", "s", to="u"),
        node("ConvTranspose", "u", "w3", strides=[2, 2], to="y0"),
        node("Sub", "y0", "half", to="y1"),
        node("Tanh", "y1", to="y"),
    ]
    rows = {name: drawn(9, 8) for name in "gbm"} | {"v": np.abs(drawn(8, 8)) + np.float32(0.5)}
    weights = {"w0": drawn(1, 8, 3, 3, 3), "w1": drawn(2, 8, 1, 3, 3), "w2": drawn(3, 8, 8, 1, 1)}
    more = {"w3": drawn(4, 8, 2, 2, 2), "t": drawn(5, 1, 8, 1, 1)}
    return net(nodes, ["n", 3, "h", "w"], rows | weights | more | SCALARS)


def encoder():
    """An attention layer that reads its shapes from its inputs."""
    nodes = [
        node("Shape", "x", to="all"),
        node("Slice", "all", "0", "2", to="front"),
        node("Concat", "front", "2", "-1", axis=0, to="heads"),
        *(node("MatMul", "x", "w", to=f"{name}0") for name in "qkv"),
        *(node("Reshape", f"{name}0", "heads", to=f"{name}1") for name in "qkv"),
        node("Transpose", "q1", perm=[0, 2, 1, 3], to="q"),
        node("Transpose", "k1", perm=[0, 2, 3, 1], to="k"),
        node("Transpose", "v1", perm=[0, 2, 1, 3], to="v"),
        node("MatMul", "q", "k", to="scores"),
        node("Softmax", "scores", axis=3, to="maps"),
        node("MatMul", "maps", "v", to="mixed"),
        node("Transpose", "mixed", perm=[0, 2, 1, 3], to="back"),
        node("Reshape", "back", "all", to="joined"),
        node("Add", "joined", "x", to="sum"),
        node("LayerNormalization", "sum", "g", "b", to="y"),
    ]
    weights = {"w": drawn(1, 6, 6) / 2, "g": drawn(2, 6), "b": drawn(3, 6)}
    return net(nodes, ["n", "t", 6], weights | INT)


def column():
    """A convolution over one-hot letters, as an image of one column."""
    nodes = [
        node("Unsqueeze", "x", "-1", to="wide"),
        node("Equal", "wide", "letters", to="hit"),
        node("Cast", "hit", to="hot"),
        node("MatMul", "hot", "w", to="rows"),
        node("Transpose", "rows", perm=[0, 2, 1], to="turned"),
        node("Unsqueeze", "turned", "-1", to="image"),
        node("Conv", "image", "f", to="found"),
        node("Squeeze", "found", "-1", to="flat"),
        node("GlobalMaxPool", "flat", to="y"),
    ]
    nodes[2].attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
    letters = {"letters": np.arange(5, dtype=np.int32).reshape(1, 1, 5)}
    weights = {"w": drawn(1, 5, 8), "f": drawn(2, 6, 8, 3, 1)}
    return net(nodes, ["n", "t"], letters | weights | INT, 3, TensorProto.INT32)


def letters(*shape):
    return np.random.default_rng(0).integers(-1, 7, shape).astype(np.int32)


NETS = [
    (mobile, [drawn(1, 2, 3, 9, 7), drawn(2, 1, 3, 6, 6)]),
    (encoder, [drawn(3, 2, 5, 6), drawn(4, 1, 1, 6)]),
    (column, [letters(2, 9), letters(1, 4)]),
]


def theirs_and_ours(made, folder, x, **options):
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    [theirs] = session.run(["y"], {"x": x})
    return theirs, OnnxFunction(saved(made, folder), **options).run({"x": x})["y"]


@pytest.mark.parametrize(("make", "inputs"), NETS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("programs", [0, 1])
def test_nets_give_the_numbers_of_onnxruntime(make, inputs, programs, tmp_path):
    made = make()
    for x in inputs:
        theirs, ours = theirs_and_ours(made, tmp_path, x, programs=programs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_what_follows_from_numbers_is_computed_behind_the_program(tmp_path):
    nodes = [
        node("Relu", "x", to="a"),
        node("NonZero", "a", to="places"),
        node("Neg", "a", to="b"),
        node("GatherND", "b", "turned", to="y"),
    ]
    nodes.insert(2, node("Transpose", "places", to="turned"))
    made, x = net(nodes, ["n", 4], {}, 1), drawn(1, 3, 4)
    theirs, ours = theirs_and_ours(made, tmp_path, x)
    np.testing.assert_array_equal(ours, theirs)
    function = OnnxFunction(saved(made, tmp_path))
    function.run({"x": x})
    described = function.describe()
    assert "places (NonZero): numpy, behind the program" in described
    assert "Relu+Neg" in described


def test_what_the_engine_lacks_is_computed_in_the_program(tmp_path):
    nodes = [node("Relu", "x", to="a"), node("Sin", "a", to="b"), node("Exp", "b", to="y")]
    made, x = net(nodes, ["n", 4], {}), drawn(1, 3, 4)
    theirs, ours = theirs_and_ours(made, tmp_path, x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    function = OnnxFunction(saved(made, tmp_path))
    function.run({"x": x})
    assert "Sin" in function.describe()
    assert "behind" not in function.describe()


CEIL = {"kernel_shape": [2], "strides": [2], "pads": [1, 1], "ceil_mode": 1}
UNEVEN = {"kernel_shape": [3], "strides": [3], "pads": [1, 2], "ceil_mode": 1}
MISJUDGED = {  # shapes that onnx infers wrongly: windows that begin in the padding, axes of slopes
    "the largest": (node("MaxPool", "x", to="p", **CEIL), {}),
    "their norm": (node("LpPool", "x", to="p", **CEIL), {}),
    "their mean": (node("AveragePool", "x", to="p", count_include_pad=1, **UNEVEN), {}),
    "slopes": (node("PRelu", "x", "s", to="p"), {"s": drawn(2, 4, 1, 2, 5)}),
}


@pytest.mark.parametrize("name", MISJUDGED)
def test_shapes_that_are_not_those_of_the_rules_are_computed_with(name, tmp_path):
    one, constants = MISJUDGED[name]
    nodes = [one, node("Shape", "p", to="s0"), node("Neg", "p", to="n")]
    nodes += [node("Expand", "n", "s0", to="y")]
    rank = 4 if constants else 3
    made, x = net(nodes, ["n", 2, "t"], constants, rank), drawn(1, 1, 2, 5)
    made.opset_import[0].version = 18  # for LpPool
    theirs, ours = theirs_and_ours(made, tmp_path, x)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_the_programs_that_ran_last_are_kept(tmp_path):
    function = OnnxFunction(saved(net([node("Relu", "x")], ["n"], {}), tmp_path), programs=2)
    results = [function.run({"x": drawn(0, n)})["y"] for n in (3, 4, 3, 5)]
    assert [line[:8] for line in function.describe().split("\n\n")] == ["1 calls "] * 2
    assert "(3,)" in function.describe()
    assert "(4,)" not in function.describe()
    for result in results:  # no later run has overwritten it
        np.testing.assert_array_equal(result, np.maximum(drawn(0, len(result)), 0))


def test_programs_are_counted(tmp_path):
    with pytest.raises(ConfigError, match="OnnxFunction.programs must be >= 0, got -1"):
        OnnxFunction(saved(net([node("Relu", "x")], ["n"], {}), tmp_path), programs=-1)


def test_shapes_that_do_not_fit_name_the_node(tmp_path):
    function = OnnxFunction(
        saved(net([node("MatMul", "x", "w")], [None, None], {"w": drawn(1, 3, 2)}), tmp_path)
    )
    with pytest.raises(ShapeError, match=r"y \(MatMul\) cannot be computed of inputs of"):
        function.run({"x": drawn(1, 4, 5)})
