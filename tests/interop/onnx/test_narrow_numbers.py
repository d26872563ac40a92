"""Files that networks of 16-bit floats read, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved
from tests.interop.onnx.test_choice_translation import STEPS, cast, saved_with_ids, scores

NARROW = ("bfloat16", "float16")
LOWEST = np.finfo(np.float32).min
SEEN = np.tri(STEPS, dtype=bool)
MASKS = {
    "a choice": (node("Where", "m", "s", "low", to="h"), {"low": np.float32(-np.inf)}),
    "a choice of the lowest": (node("Where", "m", "s", "low", to="h"), {"low": LOWEST}),
    "a sum": (node("Add", "s", "low", to="h"), {"low": np.where(SEEN, 0, LOWEST)}),
}


def hide_later_steps():
    """Returns the nodes of a computed mask, which is SEEN."""
    return [
        node("Abs", "x", to="p"),
        node("ReduceSum", "p", "last", to="q"),
        node("Transpose", "q", to="row", perm=[0, 2, 1]),
        node("Greater", "row", "zero", to="some"),
        node("And", "some", "seen", to="m"),
    ]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", MASKS)
def test_what_a_mask_hides_stays_hidden(name, dtype, tmp_path):
    hides, constants = MASKS[name]
    made = hide_later_steps() if "m" in hides.input else []
    known = {"last": np.array([2]), "zero": np.float32(0), "seen": SEEN} if made else {}
    constants = {key: np.asarray(value) for key, value in (known | constants).items()}
    constants["low"] = constants["low"].astype(np.float32)
    path = model(scores(*made, hides), (STEPS, 3), constants)
    net = read_onnx(saved(path, tmp_path), dtype=dtype)
    for n in (1, 5):
        x = drawn(n, n, STEPS, 3)
        np.testing.assert_allclose(net.run(x)["y"], expected(path, x), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", NARROW)
def test_masks_of_integers_may_be_sums_of_products(dtype, tmp_path):
    """As Hugging Face has it, also where two such masks are added."""
    nodes = [
        cast("ids", "f"),
        node("Sub", "unit", "f", to="g"),
        node("Mul", "g", "least", to="w"),
        node("Unsqueeze", "w", "one", to="m"),
        node("Add", "s", "m", to="k"),
        node("Add", "k", "m", to="h"),
    ]
    constants = {"one": np.array([1]), "unit": np.float32(1), "least": LOWEST / 2}
    path, session = saved_with_ids(scores(*nodes), constants, tmp_path)
    given = {"x": drawn(1, 2, STEPS, 3), "ids": np.array([[1, 1, 1, 0], [1, 0, 0, 0]])}
    [theirs] = session.run(None, given)
    ours = read_onnx(path, dtype=dtype).run(given)["y"]
    np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", NARROW)
def test_masks_of_two_kinds_keep_their_order(dtype, tmp_path):
    """In rows that both hide together: a causal mask, and padding before a text."""
    nodes = [
        *[cast("ids", "f"), node("Sub", "unit", "f", to="g"), node("Mul", "g", "least", to="w")],
        *[node("Unsqueeze", "w", "one", to="m"), node("Add", "s", "causal", to="c")],
        node("Add", "c", "m", to="h"),
    ]
    constants = {"one": np.array([1]), "unit": np.float32(1), "least": LOWEST}
    constants |= {"causal": np.where(SEEN, np.float32(0), np.float32(-np.inf))}
    path, session = saved_with_ids(scores(*nodes), constants, tmp_path)
    given = {"x": drawn(1, 2, STEPS, 3), "ids": np.array([[0, 1, 1, 1], [0, 0, 0, 1]])}
    [theirs] = session.run(None, given)
    ours = read_onnx(path, dtype=dtype).run(given)["y"]
    np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.05)


def integers(source, to):
    return helper.make_node("Cast", [source], [to], to=TensorProto.INT64)


ROUNDED = {
    "a comparison": [node("Equal", "ids", "many", to="m"), cast("m")],
    "a comparison of their floats": [
        cast("ids", "f"),
        node("Equal", "f", "hundreds", to="m"),
        cast("m"),
    ],
    "parts": [node("Slice", "ids", "one", "two", "one", to="i"), node("Gather", "w", "i")],
    "sums": [node("Add", "ids", "many", to="i"), node("Gather", "w", "i")],
    "a choice": [
        node("Greater", "x", "hundreds", to="b"),
        integers("b", "c"),
        node("Mul", "c", "many", to="i"),
        cast("i"),
    ],
    "whole parts of computed floats": [
        node("Exp", "x", to="e"),
        integers("e", "c"),
        node("Gather", "w", "c"),
    ],
}
NUMBERS = {
    "many": np.array(257),
    "one": np.array([1]),
    "two": np.array([2]),
    "hundreds": np.float32(257),
    "w": drawn(1, 400, 2),
}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ROUNDED)
def test_whole_numbers_are_not_rounded(name, dtype, tmp_path):
    read = {each for made in ROUNDED[name] for each in made.input}
    known = {key: value for key, value in NUMBERS.items() if key in read}
    path, _ = saved_with_ids(ROUNDED[name], known, tmp_path)
    read_onnx(path)
    with pytest.raises(UnsupportedError, match="computing with whole numbers in"):
        read_onnx(path, dtype=dtype)


def test_integers_that_are_only_looked_up_are_exact(tmp_path):
    nodes = [node("Unsqueeze", "ids", "one", to="i"), node("Gather", "w", "i")]
    path, session = saved_with_ids(nodes, {"one": np.array([1]), "w": NUMBERS["w"]}, tmp_path)
    ids = np.array([[257, 259, 301, 399]])
    given = {"ids": ids, "x": drawn(1, 1, STEPS, 3)}
    [theirs] = session.run(None, given)
    ours = read_onnx(path, dtype="bfloat16").run(given)["y"]
    np.testing.assert_allclose(ours, theirs, rtol=0.01)


def test_numbers_that_would_be_infinite_are_refused(tmp_path):
    path = saved(model([node("Add", "x", "c")], (3,), {"c": np.float32([1e5, 1, 2])}), tmp_path)
    read_onnx(path, dtype="bfloat16")
    with pytest.raises(UnsupportedError, match="numbers beyond"):
        read_onnx(path, dtype="float16")
