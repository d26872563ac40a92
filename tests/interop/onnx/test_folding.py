"""Constant folding: what a graph computes from constants and shapes alone."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import folding, read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

IMAGE = (3, 2, 4)
ONES, ZERO = np.array([1]), np.array([0])
HEAD = [node("Shape", "x", to="s"), node("Slice", "s", "zero", "one", to="n")]
ROOT = [
    node("Shape", "x", to="s"),
    node("Gather", "s", "at", to="n"),
    helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
    node("Sqrt", "f", to="r"),
]
CASES = {
    "weights": (
        [
            node("Reshape", "w", "shape", to="v"),
            node("Add", "v", "v", to="b"),
            node("Add", "x", "b"),
        ],
        {"w": drawn(1, 3), "shape": np.array([1, 3, 1, 1])},
    ),
    "flat by its own shape": (
        [*HEAD, node("Concat", "n", "rest", to="to", axis=0), node("Reshape", "x", "to")],
        {"rest": np.array([24])},
    ),
    "flat with a length to be found": (
        [*HEAD, node("Concat", "n", "rest", to="to", axis=0), node("Reshape", "x", "to")],
        {"rest": np.array([-1, 6])},
    ),
    "the root of a length, which scales the scores of attention": (
        [*ROOT, node("Div", "x", "r")],
        {"at": np.array([3])},
    ),
    "a mask as long as the steps": (
        [
            *ROOT[:2],
            node("Expand", "true", "n", to="e"),
            node("Trilu", "e", to="t", upper=0),
            node("Where", "t", "x", "low"),
        ],
        {"at": np.array([2, 3]), "true": np.ones((1, 1), bool), "low": np.float32(-3)},
    ),
    "its merged axes apart": (
        [
            node("Shape", "x", to="s"),
            node("Slice", "s", "one", "two", to="c"),
            node("Slice", "s", "zero", "one", to="n"),
            node("Mul", "n", "c", to="rows"),
            node("Concat", "rows", "rest", to="to", axis=0),
            node("Reshape", "x", "to", to="r"),
            node("Exp", "r", to="e"),
            node("Div", "rows", "c", to="again"),
            node("Concat", "again", "c", "rest", to="back", axis=0),
            node("Reshape", "e", "back"),
        ],
        {"two": np.array([2]), "rest": np.array([8])},
    ),
    "numbers for each example": (
        [
            *HEAD,
            node("Concat", "n", "rest", to="k", axis=0),
            node("ConstantOfShape", "k", to="c", value=helper.make_tensor("v", 1, [1], [2.5])),
            node("Add", "x", "c"),
        ],
        {"rest": np.array([3, 1, 4])},
    ),
    "parts of numbers for each example": (
        [
            *HEAD,
            node("Concat", "n", "rest", to="k", axis=0),
            node("ConstantOfShape", "k", to="c", value=helper.make_tensor("v", 1, [1], [2.5])),
            node("Trilu", "c", to="t", upper=0),
            node("Slice", "t", "from", "until", to="p"),
            node("Add", "x", "p"),
        ],
        {"rest": np.array([3, 5, 4]), "from": np.array([0, 0, -2])}
        | {"until": np.array([2**63 - 1, 3, 2**31 - 1])},
    ),
    "a product of matrices": (
        [node("MatMul", "a", "b", to="c"), node("Add", "x", "c")],
        {"a": drawn(1, 2, 3000), "b": drawn(2, 3000, 4)},
    ),
    "an Einsum of matrices": (
        [node("Einsum", "a", "b", to="c", equation="ij,jk->ik"), node("Add", "x", "c")],
        {"a": drawn(1, 2, 3000), "b": drawn(2, 3000, 4)},
    ),
    "the shape it had": (
        [
            node("Shape", "x", to="s"),
            node("Flatten", "x", to="f"),
            node("Reshape", "f", "s"),
        ],
        {},
    ),
}  # fmt: skip
SIZE = [node("Shape", "x", to="s"), node("Gather", "s", "at", to="n")]
ADDED = [helper.make_node("Cast", ["m"], ["f"], to=TensorProto.FLOAT), node("Add", "x", "f")]
EIGHT = {"at": np.array(0), "eight": np.array(8)}
REFUSED = {
    "the eighths of the batch": (
        [
            *ROOT[:3],
            node("Div", "f", "eight", to="r"),
            helper.make_node("Cast", ["r"], ["k"], to=TensorProto.INT64),
            helper.make_node("Cast", ["k"], ["kf"], to=TensorProto.FLOAT),
            node("Add", "x", "kf"),
        ],
        {"at": np.array(0), "eight": np.float32(8)},
        "computing with the size of the batch",
    ),
    "whether the batch is larger than eight": (
        [*SIZE, node("Sub", "n", "eight", to="k"), node("Greater", "k", "at", to="m"), *ADDED],
        EIGHT,
        "computing with the size of the batch",
    ),
    "whether it has others than eight": (
        [
            *SIZE,
            node("Sub", "n", "eight", to="k"),
            helper.make_node("Cast", ["k"], ["m"], to=TensorProto.BOOL),
            *ADDED,
        ],
        EIGHT,
        "computing with the size of the batch",
    ),
    "what its square exceeds": (
        [
            *SIZE,
            node("Mul", "n", "n", to="q"),
            node("Sub", "q", "limit", to="k"),
            node("Max", "k", "at", to="m"),
            *ADDED,
        ],
        {"at": np.array(0), "limit": np.array(49)},
        "computing with the size of the batch",
    ),
    "a number of a table": (
        [*SIZE, node("Gather", "table", "n", to="m"), *ADDED],
        {"at": np.array(0), "table": np.arange(20) // 8},
        "computing with the size of the batch",
    ),
    "parts for each example": (
        [*SIZE, node("Div", "all", "n", to="k"), node("Mul", "k", "n", to="m"), *ADDED],
        {"at": np.array(0), "all": np.array(42)},
        "computing with the size of the batch",
    ),
    "twice the batch": (
        [*HEAD, node("Add", "n", "n", to="m"), node("Reshape", "x", "m")],
        {},
        r"the shape \[2\] of an example",
    ),
    "a half of the batch": (
        [*HEAD, node("Div", "n", "two", to="m"), node("Reshape", "x", "m")],
        {"two": np.array([2])},
        "computing with the size of the batch",
    ),
    "whether the batch has nine": (
        [*HEAD, node("Equal", "n", "nine", to="m"), node("Where", "m", "x", "low")],
        {"nine": np.array([9]), "low": np.float32(-3)},
        "computing with the size of the batch",
    ),
    "places in the batch": (
        [
            node("Shape", "x", to="s"),
            node("Gather", "s", "at", to="n"),
            node("Range", "from", "n", "by", to="p"),
            helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT),
            node("Reshape", "f", "column", to="c"),
            node("Add", "x", "c"),
        ],
        {"at": np.array(0), "from": np.array(0), "by": np.array(1)}
        | {"column": np.array([-1, 1, 1, 1])},
        "computing with the size of the batch",
    ),
    "at most seven places": (
        [
            *SIZE,
            node("Range", "at", "n", "by", to="p"),
            node("Slice", "p", "zero", "seven", to="q"),
            node("Shape", "q", to="k"),
            node("Concat", "k", "rest", to="to", axis=0),
            node("Reshape", "x", "to"),
        ],
        {"at": np.array(0), "by": np.array(1), "seven": np.array([7]), "rest": np.array([-1])},
        "computing with the size of the batch",
    ),
    "at most seven numbers": (
        [
            *HEAD,
            node("ConstantOfShape", "n", to="c"),
            node("Slice", "c", "zero", "seven", to="q"),
            node("Shape", "q", to="k"),
            node("Concat", "k", "rest", to="to", axis=0),
            node("Reshape", "x", "to"),
        ],
        {"seven": np.array([7]), "rest": np.array([-1])},
        "computing with the size of the batch",
    ),
    "a triangle of examples": (
        [
            *HEAD,
            node("Concat", "n", "four", to="k", axis=0),
            node("ConstantOfShape", "k", to="c", value=helper.make_tensor("v", 1, [1], [2.5])),
            node("Trilu", "c", "below", to="t"),
            node("ReduceMax", "x", to="m", axes=[1, 2], keepdims=0),
            node("Add", "m", "t"),
        ],
        {"four": np.array([4]), "below": np.array(-6)},
        "computing with the size of the batch",
    ),
    "the root of the batch": (
        [*ROOT, node("Div", "x", "r")],
        {"at": ZERO},
        "computing with the size of the batch",
    ),
    "too much": (
        [node("Add", "a", "b", to="c"), node("Add", "x", "c")],
        {"a": np.ones((9000, 1), np.float32), "b": np.ones(9000, np.float32)},
        "a constant of more than",
    ),
    "too much to gather": (
        [node("Gather", "a", "i", to="c"), node("Add", "x", "c")],
        {"a": np.ones((1, 9000), np.float32), "i": np.zeros(9000, np.int64)},
        "a constant of more than",
    ),
    "what does not fit": (
        [node("Reshape", "a", "shape", to="c"), node("Add", "x", "c")],
        {"a": np.ones(5, np.float32), "shape": np.array([2, 2])},
        "Reshape of such constants",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_onnxruntime_has_it(name, tmp_path, monkeypatch):
    monkeypatch.setattr(folding, "MOST", 1_000_000)
    nodes, constants = CASES[name]
    made = model(nodes, IMAGE, {"zero": ZERO, "one": ONES} | constants)
    net = read_onnx(saved(made, tmp_path))
    for n in (1, 3, 9):
        x = drawn(n, n, *IMAGE)
        theirs = expected(made, x)
        assert net.run(x)["y"].shape == theirs.shape
        np.testing.assert_allclose(net.run(x)["y"], theirs, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_known_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(folding, "MOST", 1_000_000)
    nodes, constants, reason = REFUSED[name]
    path = tmp_path / "net.onnx"
    made = model(nodes, IMAGE, {"zero": ZERO, "one": ONES} | constants, inferred=False)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match=reason):
        read_onnx(str(path))
