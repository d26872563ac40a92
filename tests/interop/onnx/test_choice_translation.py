"""Comparisons, and masks that are computed from inputs, against onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, shape_inference

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

STEPS = 4
FLOAT = {"to": TensorProto.FLOAT}
ZERO, INFINITE = np.zeros((), np.float32), np.float32(-np.inf)
IDS = np.array([[3, 1, 0, 0], [2, 3, 2, 0], [0, 0, 0, 0]])
SEEN = [node("Equal", "ids", "nothing", to="p"), node("Not", "p", to="seen")]
ROWS = [node("Unsqueeze", "seen", "one", to="row")]
HIDDEN = [node("Unsqueeze", "p", "one", to="r"), node("Where", "r", "low", "s", to="h")]
NUMBERS = {"nothing": np.array(0), "one": np.array([1]), "low": INFINITE, "zero": ZERO}
LEAST = {
    "unit": np.array(1),
    "flat": np.array([-1, 3]),
    "at0": np.array([0]),
    "two": np.array([2]),
    "all": np.ones((1, STEPS), bool),
    "zeros": np.zeros((1, STEPS), np.float32),
    "least": np.full((STEPS, STEPS), np.finfo(np.float32).min),
}
SOFTMAX = [node("MatMul", "x", "t", to="s"), node("Softmax", "h", to="a")]


def saved_with_ids(nodes, constants, folder, kind=TensorProto.INT64):
    """Returns (path, session) of a file that reads x (n, STEPS, 3) and ids (n, STEPS)."""
    made = model(nodes, (STEPS, 3), constants, inferred=False)
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    made.graph.input.append(helper.make_tensor_value_info("ids", kind, ["n", STEPS]))
    made = shape_inference.infer_shapes(made)
    return saved(made, folder), onnxruntime.InferenceSession(made.SerializeToString())


def scores(*hides):
    """Returns the nodes of attention, whose scores "s" become "h"."""
    return [
        node("Transpose", "x", to="t", perm=[0, 2, 1]),
        SOFTMAX[0],
        *hides,
        SOFTMAX[1],
        node("MatMul", "a", "x"),
    ]


def cast(source, to="y"):
    return helper.make_node("Cast", [source], [to], **FLOAT)


CASES = {  # nodes and constants
    "padding chosen": (scores(*SEEN, *ROWS, node("Where", "row", "s", "low", to="h")), {}),
    "padding of -1e9": (
        scores(*SEEN, *ROWS, node("Where", "row", "s", "low", to="h")),
        {"low": np.float32(-1e9)},
    ),
    "padding filled": (
        scores(*SEEN, *HIDDEN),
        {},
    ),
    "padding filled by a number": (
        scores(*SEEN, *HIDDEN),
        {"low": np.float32(2.5)},
    ),
    "a sum of zeros and minus infinity": (
        scores(
            *SEEN,
            *ROWS,
            node("Where", "row", "zero", "low", to="m"),
            node("Add", "s", "m", to="h"),
        ),
        {},
    ),
    "as Hugging Face has it": (
        scores(
            helper.make_node("Cast", ["ids"], ["f"], **FLOAT),
            node("Sub", "unit", "f", to="g"),
            node("Mul", "g", "least", to="w"),
            node("Unsqueeze", "w", "one", to="m"),
            node("Add", "s", "m", to="h"),
        ),
        {"unit": np.float32(1), "least": np.float32(-1e4)},
    ),
    "expanded": (
        scores(
            *SEEN,
            *ROWS,
            node("Shape", "s", to="n"),
            node("Expand", "row", "n", to="wide"),
            node("Where", "wide", "s", "low", to="h"),
        ),
        {},
    ),
    "flat rows of the batch": (  # as Hugging Face has it
        [
            node("Shape", "ids", to="n"),
            node("Gather", "n", "nothing", to="size"),
            node("Range", "nothing", "size", "by", to="b"),
            node("Mul", "b", "length", to="starts"),
            node("Reshape", "starts", "column", to="of_each"),
            node("Add", "of_each", "places", to="own"),
            node("Flatten", "ids", to="flat", axis=2),
            node("Gather", "flat", "own", to="g"),
            node("Reshape", "g", "row", to="r"),
            cast("r"),
        ],
        {"by": np.array(1), "length": np.array(STEPS), "column": np.array([-1, 1, 1])}
        | {"places": np.arange(STEPS).reshape(1, 1, -1), "row": np.array([-1, 1, 1, STEPS])},
    ),
    "pairs of an example and a place": (
        [
            node("Shape", "ids", to="n"),
            node("Gather", "n", "nothing", to="size"),
            node("Range", "nothing", "size", "by", to="b"),
            node("Reshape", "b", "column", to="c"),
            node("Max", "c", "places", to="wide"),
            node("Shape", "wide", to="k"),
            node("Expand", "c", "k", to="e"),
            node("Expand", "places", "k", to="p"),
            node("Concat", "e", "p", to="pairs", axis=-1),
            node("GatherND", "ids", "pairs", to="g"),
            node("Reshape", "g", "row", to="r"),
            cast("r"),
        ],
        {"by": np.array(1), "column": np.array([-1, 1, 1])}
        | {"places": np.arange(1, STEPS).reshape(1, -1, 1), "row": np.array([-1, STEPS - 1])},
    ),
    "counted": (
        [
            *SEEN,
            helper.make_node("Cast", ["seen"], ["i"], to=TensorProto.INT64),
            node("CumSum", "i", "second", to="s"),
            node("Mul", "s", "i", to="t"),
            node("Gather", "w", "t"),
        ],
        {"second": np.array(1), "w": drawn(7, STEPS + 1, 2)},
    ),
    "types that are all zero": (
        [
            node("Shape", "ids", to="n"),
            node("Expand", "zeros", "n", to="z"),
            helper.make_node("GatherElements", ["z", "ids"], ["t"], axis=1),
            node("Gather", "w", "t"),
        ],
        {"zeros": np.zeros((1, 1), np.int64), "w": drawn(7, 2, 3)},
    ),
    "and": (
        [*SEEN, node("Less", "ids", "three", to="l"), node("And", "seen", "l", to="b"), cast("b")],
        {"three": np.array(3)},
    ),
    "or": (
        [*SEEN, node("Greater", "ids", "three", to="l"), node("Or", "p", "l", to="b"), cast("b")],
        {"three": np.array(3)},
    ),
    "with a constant mask": (
        [
            *SEEN,
            *ROWS,
            node("And", "row", "lower", to="b"),
            node("Or", "b", "first", to="c"),
            cast("c"),
        ],
        {"lower": np.tri(STEPS, dtype=bool)[None], "first": np.eye(STEPS, dtype=bool)},
    ),
    "at least": ([node("GreaterOrEqual", "ids", "two", to="b"), cast("b")], {"two": np.array(2)}),
    "at most": ([node("LessOrEqual", "two", "ids", to="b"), cast("b")], {"two": np.array(2)}),
    "equal numbers of steps": (
        [
            node("ReduceMax", "x", to="c", axes=[2]),
            node("Transpose", "c", to="r", perm=[0, 2, 1]),
            node("Equal", "r", "c", to="b"),
            cast("b"),
        ],
        {},
    ),
    "a choice of two": (
        [
            *SEEN,
            node("Unsqueeze", "seen", "last", to="m"),
            node("Neg", "x", to="z"),
            node("Where", "m", "x", "z"),
        ],
        {"last": np.array([-1])},
    ),
    "a choice whose other side is infinite or NaN": (
        [
            node("Greater", "x", "zero", to="m"),
            node("Log", "x", to="l"),
            node("Where", "m", "l", "zero", to="a"),
            node("LessOrEqual", "x", "zero", to="k"),
            node("Where", "k", "x", "l", to="b"),
            node("Add", "a", "b"),
        ],
        {},
    ),
    "a mask with more columns than what it hides": (
        [
            *SEEN,
            *ROWS,
            node("ReduceMax", "x", to="c", axes=[2]),
            node("Log", "c", to="d"),
            node("Greater", "c", "zero", to="above"),
            node("And", "row", "above", to="m"),
            node("Where", "m", "d", "low", to="h"),
            node("Exp", "h"),
        ],
        {"low": np.float32(-2)},
    ),
    "a choice of numbers of other sizes": (
        [*SEEN, node("Where", "seen", "small", "low")],
        {"small": np.float32(0.3), "low": np.float32(-1e9)},
    ),
    "arithmetic of integers": (
        [node("Sub", "two", "ids", to="d"), node("Mul", "d", "two", to="e"), cast("e")],
        {"two": np.array(2)},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_masks_of_ids_are_as_onnxruntime_has_them(name, tmp_path):
    nodes, constants = CASES[name]
    read = {each for made in nodes for each in made.input}
    known = {key: value for key, value in (NUMBERS | constants).items() if key in read}
    path, session = saved_with_ids(nodes, known, tmp_path)
    net = read_onnx(path)
    for n in (1, 2, 9):
        given = {"x": drawn(n, n, STEPS, 3), "ids": np.resize(IDS[:2], (n, STEPS))}
        [theirs] = session.run(None, given)
        ours = net.run({name: given[name] for name in net.network.conf.input_shapes})["y"]
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_booleans_may_be_an_input(tmp_path):
    nodes = [node("Unsqueeze", "ids", "last", to="m"), node("Where", "m", "x", "zero")]
    constants = {"last": np.array([-1]), "zero": ZERO}
    path, session = saved_with_ids(nodes, constants, tmp_path, TensorProto.BOOL)
    given = {"x": drawn(1, 2, STEPS, 3), "ids": IDS[:2] > 0}
    np.testing.assert_allclose(read_onnx(path).run(given)["y"], session.run(None, given)[0])


REFUSED = {
    "rows of other examples": (
        [
            node("Shape", "x", to="n"),
            node("Gather", "n", "nothing", to="size"),
            node("Range", "nothing", "size", "unit", to="b"),
            node("Reshape", "x", "flat", to="rows"),
            node("Gather", "rows", "b"),
        ],
        "indices that differ from example to example",
    ),
    "infinite limit": (
        [node("Equal", "x", "low", to="b"), cast("b")],
        "comparing with an infinite number",
    ),
    "a choice of numbers that is wider than its mask": (
        [
            node("Slice", "x", "at0", "one", "two", to="c"),
            node("Greater", "c", "zero", to="m"),
            node("Where", "m", "least", "zeros", to="w"),
            node("ReduceSum", "w", "two"),
        ],
        "a constant of shape",
    ),
    "a choice that is wider than the numbers": (
        [
            node("Slice", "x", "at0", "one", "two", to="c"),
            node("Greater", "c", "zero", to="m"),
            node("Where", "m", "c", "zeros", to="w"),
            node("ReduceSum", "w", "two"),
        ],
        "a constant of shape",
    ),
    "a constant mask that is wider": (
        [
            node("Slice", "x", "at0", "one", "two", to="c"),
            node("Where", "all", "c", "zero", to="w"),
            node("ReduceSum", "w", "two"),
        ],
        "a choice of shape",
    ),
    "rounded": (
        [
            helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
            node("Equal", "i", "nothing", to="b"),
            cast("b"),
        ],
        "computing with integers",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_other_numbers_is_refused(name, tmp_path):
    nodes, why = REFUSED[name]
    path = tmp_path / "net.onnx"
    made = model(nodes, (STEPS, 3), NUMBERS | LEAST, inferred=False)
    onnx.save(made, path)
    with pytest.raises(UnsupportedError, match=why):
        read_onnx(str(path))


def test_integers_of_two_tensors_are_not_compared(tmp_path):
    """Floats do not tell large ids apart."""
    nodes = [
        node("Unsqueeze", "ids", "one", to="r"),
        node("Unsqueeze", "ids", "last", to="c"),
        node("Equal", "r", "c", to="b"),
        cast("b"),
    ]
    constants = {"one": np.array([1]), "last": np.array([-1])}
    path, _ = saved_with_ids(nodes, constants, tmp_path)
    with pytest.raises(UnsupportedError, match="two tensors of integers"):
        read_onnx(path)


def test_integers_that_floats_do_not_have_are_not_compared(tmp_path):
    nodes = [node("Equal", "ids", "large", to="b"), cast("b")]
    path, _ = saved_with_ids(nodes, {"large": np.array(2**24)}, tmp_path)
    with pytest.raises(UnsupportedError, match=r"integers of 2\^24 or more"):
        read_onnx(path)


def test_integers_are_multiplied_by_booleans_only(tmp_path):
    nodes = [node("Mul", "ids", "ids", to="d"), node("Sub", "d", "large", to="e"), cast("e")]
    path, _ = saved_with_ids(nodes, {"large": np.array(2**24 - 1)}, tmp_path)
    with pytest.raises(UnsupportedError, match="products of two tensors of integers"):
        read_onnx(path)


@pytest.mark.parametrize("factor", [-1, 16_000_001])
def test_multiples_of_integers_are_not_computed_with(factor, tmp_path):
    subtract = node("Sub", "d", "large", to="e")
    nodes = [node("Mul", "ids", "factor", to="d"), subtract, cast("e")]
    constants = {"factor": np.array(factor), "large": np.array(16_000_000)}
    path, _ = saved_with_ids(nodes, constants, tmp_path)
    if factor == -1:
        read_onnx(path)
        return
    with pytest.raises(UnsupportedError, match="computing with multiples of integers"):
        read_onnx(path)


@pytest.mark.parametrize("beside, holds", [("ids", False), ("i", True), ("ones", True)])
def test_joined_tensors_are_booleans_if_all_are(beside, holds, tmp_path):
    nodes = [
        *SEEN,
        helper.make_node("Cast", ["seen"], ["i"], to=TensorProto.INT64),
        node("Concat", "i", beside, to="c", axis=1),
        node("Mul", "c", "c", to="d"),
        cast("d", to="f"),
        node("ReduceMax", "x", to="m", axes=[1, 2], keepdims=0),
        node("Unsqueeze", "m", "one", to="k"),
        node("Add", "f", "k"),
    ]
    constants = {"nothing": NUMBERS["nothing"], "ones": np.ones((1, 2), np.int64)}
    constants |= {"one": NUMBERS["one"]}
    path, session = saved_with_ids(nodes, constants, tmp_path)
    if not holds:
        with pytest.raises(UnsupportedError, match="products of two tensors of integers"):
            read_onnx(path)
        return
    given = {"x": drawn(1, 1, STEPS, 3), "ids": IDS[:1]}
    np.testing.assert_array_equal(read_onnx(path).run(given)["y"], session.run(None, given)[0])


@pytest.mark.slow
def test_a_constant_mask_hides_what_is_infinite_or_nan(tmp_path):
    nodes = [node("Log", "x", to="l"), node("Where", "seen", "l", "zero")]
    for number in (0, 2, -1e9):
        seen = drawn(1, 9, STEPS, 3)[0] > 0
        made = model(nodes, (STEPS, 3), {"seen": seen, "zero": np.float32(number)})
        x = np.where(seen, 1 + drawn(2, 9, STEPS, 3) ** 2, -1).astype(np.float32)
        y = read_onnx(saved(made, tmp_path)).run(x)["y"]
        np.testing.assert_allclose(y, expected(made, x), rtol=1e-5)


def test_a_constant_may_be_wider_than_a_mask(tmp_path):
    """As the sum of a causal mask and one of padding."""
    hides = [
        node("Where", "row", "zero", "low", to="m"),
        node("Add", "m", "causal", to="both"),
        node("Add", "s", "both", to="h"),
    ]
    nodes, causal = scores(*SEEN, *ROWS, *hides), np.triu(np.full((STEPS, STEPS), -1e9), 1)
    constants = NUMBERS | {"causal": causal.astype(np.float32)[None]}
    path, session = saved_with_ids(nodes, constants, tmp_path)
    given = {"x": drawn(3, 2, STEPS, 3), "ids": IDS[:2]}
    [theirs] = session.run(None, given)
    np.testing.assert_allclose(read_onnx(path).run(given)["y"], theirs, rtol=1e-5, atol=1e-6)
