"""Scores that several masks hide, and rows that they hide altogether, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, shape_inference
from onnxruntime import InferenceSession

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, model, node, saved
from tests.interop.onnx.test_choice_translation import (
    FLOAT,
    IDS,
    INFINITE,
    ROWS,
    SEEN,
    STEPS,
    ZERO,
    cast,
    saved_with_ids,
    scores,
)

LOWEST = np.finfo(np.float32).min
LEFT = np.array([[0, 0, 3, 1], [0, 2, 3, 2], [0, 0, 0, 5]])  # ids with padding before them
LOWER = np.tri(STEPS, dtype=bool)
NUMBERS = {"nothing": np.array(0), "one": np.array([1]), "zero": ZERO, "unit": np.float32(1)}
PADDING = [*SEEN, *ROWS, node("Where", "row", "zero", "low", to="pad")]
CHOSEN = [*SEEN, *ROWS, node("Where", "row", "c", "low", to="h")]
ADDED = [*PADDING, node("Add", "c", "pad", to="h")]
PRODUCT = [
    helper.make_node("Cast", ["seen"], ["f"], **FLOAT),
    node("Sub", "unit", "f", to="g"),
    node("Mul", "g", "low", to="w"),
    node("Unsqueeze", "w", "one", to="m"),
]
CAUSAL = node("Add", "s", "causal", to="c")
LIMITED = [*ADDED[:-1], node("Add", "c", "pad", to="b"), node("Max", "b", "low", to="h")]
OF_LOWEST = {"low": LOWEST, "causal": np.where(LOWER, 0, LOWEST)}
OF_BOTH = OF_LOWEST | {"causal": np.where(LOWER, np.float32(0), INFINITE)}
MASKS = {  # nodes from the scores "s" to "h", and their constants
    "the lowest chosen, after minus infinity": ([CAUSAL, *CHOSEN], OF_BOTH),
    "the lowest chosen, after the lowest": ([CAUSAL, *CHOSEN], OF_LOWEST),
    "the lowest added, after minus infinity": ([CAUSAL, *ADDED], OF_BOTH),
    "the lowest as a product": (
        [CAUSAL, *SEEN, *PRODUCT, node("Add", "c", "m", to="h")],
        OF_LOWEST,
    ),
    "the lowest chosen twice": (
        [node("Where", "lower", "s", "low", to="c"), *CHOSEN],
        {"low": LOWEST, "lower": LOWER},
    ),
    "sums that are limited": ([CAUSAL, *LIMITED], OF_LOWEST),
    "minus infinity added, after the lowest": (
        [CAUSAL, *ADDED],
        OF_LOWEST | {"low": INFINITE},
    ),
    "what is equal to the lowest": (
        [
            CAUSAL,
            *PADDING,
            node("Equal", "pad", "low", to="p2"),
            node("Where", "p2", "low", "c", to="h"),
        ],
        OF_LOWEST,
    ),
}
ASKS = [
    node("IsNaN", "a", to="n"),
    node("Where", "n", "zero", "a", to="b"),
    node("MatMul", "b", "x"),
]


def read_and_compare(nodes, constants, ids, folder):
    read = {each for made in nodes for each in made.input}
    known = {name: value for name, value in constants.items() if name in read}
    path, session = saved_with_ids(nodes, known, folder)
    given = {"x": drawn(3, len(ids), STEPS, 3), "ids": ids}
    [theirs] = session.run(None, given)
    np.testing.assert_allclose(read_onnx(path).run(given)["y"], theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MASKS if "infinity" not in name])
def test_rows_that_two_masks_hide_have_the_order_of_their_numbers(name, tmp_path):
    hides, constants = MASKS[name]
    read_and_compare(scores(*hides), NUMBERS | constants, LEFT, tmp_path)


@pytest.mark.parametrize("name", [name for name in MASKS if "infinity" in name])
def test_only_minus_infinity_hides_rows_altogether(name, tmp_path):
    hides, constants = MASKS[name]
    nodes = [*scores(*hides)[:-1], *ASKS]
    read_and_compare(nodes, NUMBERS | constants, LEFT, tmp_path)


@pytest.mark.parametrize("hidden", [0, 2, STEPS])
def test_rows_that_a_mask_hides_altogether_have_no_attention(hidden, tmp_path):
    """As torch writes attention with a boolean mask; the last row sees the first step at least."""
    seen = np.tri(STEPS, STEPS, -hidden, dtype=bool)
    hides = node("Where", "seen", "s", "low", to="h")
    nodes = [*scores(hides)[:-1], *ASKS]
    made = model(nodes, (STEPS, 3), {"seen": seen, "low": INFINITE, "zero": ZERO})
    x = drawn(1, 3, STEPS, 3)
    y = read_onnx(saved(made, tmp_path)).run(x)["y"]
    products = np.where(seen, x @ x.swapaxes(1, 2), -np.inf)
    shares = np.exp(products - products.max(axis=-1, keepdims=True, initial=-1e9))
    total = shares.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(y, shares / np.where(total, total, 1) @ x, rtol=1e-5, atol=1e-6)


REFUSED = {
    "NaN of others": ([node("Exp", "x", to="a"), *ASKS[:2], node("Neg", "b")], "IsNaN of others"),
    "NaN as an output": (
        [node("Softmax", "x", to="a"), ASKS[0], cast("n")],
        "IsNaN of others",
    ),
    "a sum of finite masks, which may be infinite": (
        [*scores(node("Add", "s", "low", to="c"), node("Add", "c", "low", to="h"))[:-1], *ASKS],
        "IsNaN of finite masks whose sum may be infinite",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_questions_are_refused(name, tmp_path):
    nodes, why = REFUSED[name]
    path = tmp_path / "net.onnx"
    made = model(nodes, (STEPS, 3), NUMBERS | {"low": LOWEST}, inferred=False)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match=why):
        read_onnx(str(path))


@pytest.mark.slow
def test_finite_numbers_of_an_input_leave_attention_to_rows_that_they_hide(tmp_path):
    nodes = [*scores(node("Add", "s", "mask", to="h"))[:-1], *ASKS]
    made = model(nodes, (STEPS, 3), {"zero": ZERO}, inferred=False)
    mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", STEPS, STEPS])
    made.graph.input.append(mask)
    made = shape_inference.infer_shapes(made)
    session = InferenceSession(made.SerializeToString())
    given = {"x": drawn(3, 2, STEPS, 3), "mask": np.full((2, STEPS, STEPS), LOWEST, np.float32)}
    [theirs] = session.run(None, given)
    found = read_onnx(saved(made, tmp_path)).run(given)["y"]
    np.testing.assert_allclose(found, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_rows_hidden_by_finite_numbers_keep_their_attention(tmp_path):
    """As the masks of Hugging Face's models, and those of examples that are padding only."""
    nodes = [*scores(*SEEN, *PRODUCT, node("Add", "s", "m", to="h"))[:-1], *ASKS]
    read_and_compare(nodes, NUMBERS | {"low": np.array(LOWEST)}, IDS, tmp_path)
