"""Constant masks of the scores of attention, against onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

STEPS, HEADS, WIDTH = 5, 2, 4
SIZES = (STEPS, STEPS)
INFINITE = np.float32(-np.inf)
SEEN = np.tril(np.ones(SIZES, bool))
CAUSAL = np.where(SEEN, np.float32(0), INFINITE)
PADDING = np.float32([0, 0, 0, INFINITE, INFINITE])
NUMBERS = {"zero": np.float32(0), "low": INFINITE}
ADD = [node("Add", "scores", "hide", to="hidden")]
KEEP, DROP = (
    [node("Where", "chosen", *values, to="hidden")]
    for values in (("scores", "fill"), ("fill", "scores"))
)
# The nodes from scores to hidden, and their constants.
ADDED = {
    "a matrix": (ADD, {"hide": CAUSAL}),
    "with an axis of heads": (ADD, {"hide": CAUSAL[None]}),
    "of padding": (ADD, {"hide": PADDING}),
    "of -10000": (ADD, {"hide": np.maximum(CAUSAL, -1e4)}),
    "of -10000 in bfloat16": (ADD, {"hide": np.maximum(CAUSAL, -9984)}),
    "of the least float": (ADD, {"hide": np.maximum(CAUSAL, np.finfo(np.float32).min)}),
    "chosen": (KEEP, {"chosen": SEEN, "fill": INFINITE}),
    "chosen by -10000": (KEEP, {"chosen": SEEN, "fill": np.float32(-1e4)}),
    "chosen by what hides nothing": (KEEP, {"chosen": SEEN, "fill": np.float32(-1.5)}),
    "filled": (DROP, {"chosen": ~SEEN, "fill": INFINITE}),
    "filled by padding": (DROP, {"chosen": PADDING < 0, "fill": INFINITE}),
    "filled nowhere": (DROP, {"chosen": np.zeros(SIZES, bool), "fill": INFINITE}),
    "of a product and a sum": (
        [node("Mul", "scores", "seen", to="kept"), node("Add", "kept", "hide", to="hidden")],
        {"seen": SEEN.astype(np.float32), "hide": np.maximum(CAUSAL, -1e4)},
    ),
    "computed from ones": (
        [
            node("Trilu", "ones", to="lower", upper=0),
            node("Equal", "lower", "zero", to="equal"),
            node("Where", "equal", "low", "zero", to="hide"),
            *ADD,
        ],
        {"ones": np.ones(SIZES, np.float32)} | NUMBERS,
    ),
    "computed from booleans": (
        [
            node("Not", "seen", to="unseen"),
            helper.make_node("Cast", ["unseen"], ["number"], to=1),
            node("Mul", "number", "low", to="hide"),
            *ADD,
        ],
        {"seen": SEEN, "low": np.float32(-1e4)},
    ),
}  # fmt: skip
MORE_AXES = {
    "with axes of batch and heads": (ADD, {"hide": CAUSAL[None, None]}),
    "of padding with all axes": (ADD, {"hide": PADDING[None, None, None]}),
    "for each example": (ADD, {"hide": np.tile(CAUSAL, (3, 1, 1, 1))}),
    "for each example and head": (ADD, {"hide": np.tile(CAUSAL, (3, HEADS, 1, 1))}),
    "with distances": (ADD, {"hide": CAUSAL + drawn(7, HEADS, *SIZES)}),
    "chosen with all axes": (KEEP, {"chosen": SEEN[None, None], "fill": np.float32([INFINITE])}),
}
NO_CONSTANT = r"hidden \(Add\): a constant of shape"
REFUSED = {
    "that varies with the example": (ADD, {"hide": drawn(1, 3, 1, *SIZES)}, NO_CONSTANT),
    "of other steps": (ADD, {"hide": drawn(1, 4, 4)}, NO_CONSTANT),
    "filled by learned numbers": (
        KEEP,
        {"chosen": SEEN, "fill": drawn(1, *SIZES)},
        r"hidden \(Where\): a choice between numbers and others than one",
    ),
}


def attention(hides, are_merged):
    """Returns the nodes of attention; the heads may be merged with the batch, as torch does."""
    split = [node("MatMul", "x", "wq", to="q"), node("MatMul", "x", "wk", to="k")]
    split += [node("Reshape", "q", "heads", to="qh"), node("Reshape", "k", "heads", to="kh")]
    split += [node("Transpose", "qh", to="qt", perm=[0, 2, 1, 3])]
    split += [node("Transpose", "kh", to="kt", perm=[0, 2, 3, 1])]
    query, key, mixed = "qt", "kt", "m"
    if are_merged:
        split += [node("Reshape", "qt", "qs", to="qm"), node("Reshape", "kt", "ks", to="km")]
        query, key, mixed = "qm", "km", "ms"
    mix = [node("MatMul", query, key, to="scores"), *hides, node("Softmax", "hidden", to="a")]
    mix += [node("MatMul", "a", query, to=mixed)]
    if are_merged:
        mix += [node("Reshape", "ms", "split", to="m")]
    return [
        *split,
        *mix,
        node("Transpose", "m", to="mt", perm=[0, 2, 1, 3]),
        node("Reshape", "mt", "flat"),
    ]


SHAPES = {
    "heads": np.array([-1, STEPS, HEADS, WIDTH]),
    "qs": np.array([-1, STEPS, WIDTH]),
    "ks": np.array([-1, WIDTH, STEPS]),
    "split": np.array([-1, HEADS, STEPS, WIDTH]),
    "flat": np.array([-1, STEPS, HEADS * WIDTH]),
}
WEIGHTS = {"wq": drawn(1, 3, HEADS * WIDTH), "wk": drawn(2, 3, HEADS * WIDTH)}


def made_of(hides, constants, are_merged=False):
    nodes = attention(hides, are_merged)
    read = {name for each in nodes for name in each.input}
    known = WEIGHTS | SHAPES | constants
    return model(nodes, (STEPS, 3), {name: known[name] for name in known if name in read})


CASES = [(name, False) for name in ADDED | MORE_AXES] + [(name, True) for name in ADDED]


@pytest.mark.parametrize("name, are_merged", CASES)
def test_a_mask_is_an_operand_that_is_not_trained(name, are_merged, tmp_path):
    made, x = made_of(*(ADDED | MORE_AXES)[name], are_merged), drawn(0, 3, STEPS, 3)
    net = read_onnx(saved(made, tmp_path))
    np.testing.assert_allclose(net.run(x)["y"], expected(made, x), rtol=1e-5, atol=1e-6)
    kinds = {place.layer.type_name for place in net.network.conf.stack}
    assert ("Affine" in kinds, "Frozen" in kinds) == (False, name != "filled nowhere")


@pytest.mark.parametrize("name", REFUSED)
def test_other_constants_are_refused(name, tmp_path):
    path = tmp_path / "net.onnx"
    hides, constants, why = REFUSED[name]
    nodes = attention(hides, False)
    made = model(nodes, (STEPS, 3), WEIGHTS | SHAPES | constants, inferred=False)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match=why):
        read_onnx(str(path))
