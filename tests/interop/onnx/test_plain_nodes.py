"""Batches that are not the first axis, as torch's modules have them, against onnxruntime."""

import numpy as np
import pytest
from onnx import helper

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

STEPS, HEADS, WIDTH = 5, 2, 4
SIZE = HEADS * WIDTH
CONSTANTS = {
    "first": np.array(0),
    "second": np.array(1),
    "at0": np.array([0]),
    "heads": np.array([HEADS]),
    "width": np.array([WIDTH]),
    "size": np.array([SIZE]),
    "rest": np.array([-1]),
    "scale": np.float32(WIDTH**-0.5),
    "w": drawn(1, SIZE, 3 * SIZE),
    "b": drawn(2, 3 * SIZE),
    "out": drawn(3, SIZE, SIZE),
    "c": drawn(4, SIZE),
    "three": np.array([3]),
}


def length(source, at, to):
    """Returns the nodes that compute a length of a tensor as an array of one number."""
    return [
        node("Shape", source, to=f"{to}_s"),
        node("Gather", f"{to}_s", at, to=f"{to}_g"),
        node("Unsqueeze", f"{to}_g", "at0", to=to),
    ]


def to_heads(name):
    """Returns the nodes from (steps, batch, size) to (batch * heads, steps, width)."""
    return [
        node("Reshape", name, "merged", to=f"{name}r"),
        node("Transpose", f"{name}r", to=f"{name}h", perm=[1, 0, 2]),
    ]


# nn.MultiheadAttention as torch.onnx.export writes it: steps first, heads merged with the batch.
ATTENTION = [
    node("Transpose", "x", to="t", perm=[1, 0, 2]),
    *length("t", "first", "steps"),
    *length("t", "second", "n"),
    node("MatMul", "t", "w", to="m"),
    node("Add", "m", "b", to="packed"),
    node("Concat", "steps", "n", "three", "size", to="apart", axis=0),
    node("Reshape", "packed", "apart", to="p"),
    node("Unsqueeze", "p", "at0", to="pu"),
    node("Transpose", "pu", to="pt", perm=[3, 1, 2, 0, 4]),
    helper.make_node("Squeeze", ["pt", "minus2"], ["ps"]),
    *(node("Gather", "ps", f"i{i}", to=name, axis=0) for i, name in enumerate("qkv")),
    node("Mul", "n", "heads", to="rows"),
    node("Concat", "steps", "rows", "width", to="merged", axis=0),
    *(made for name in "qkv" for made in to_heads(name)),
    node("Mul", "qh", "scale", to="qs"),
    node("Transpose", "kh", to="kt", perm=[0, 2, 1]),
    node("MatMul", "qs", "kt", to="s"),
    node("Softmax", "s", to="a", axis=-1),
    node("MatMul", "a", "vh", to="o"),
    node("Transpose", "o", to="ot", perm=[1, 0, 2]),
    node("Mul", "steps", "n", to="all"),
    node("Concat", "all", "size", to="flat", axis=0),
    node("Reshape", "ot", "flat", to="of"),
    helper.make_node("Gemm", ["of", "out", "c"], ["g"], transB=1),
    node("Concat", "steps", "n", "size", to="whole", axis=0),
    node("Reshape", "g", "whole", to="gw"),
    node("Transpose", "gw", perm=[1, 0, 2]),
]
INDICES = {f"i{i}": np.array(i) for i in range(3)} | {"minus2": np.array([-2])}
CASES = {
    "attention": (ATTENTION, CONSTANTS | INDICES),
    "a sum and a norm of steps before the batch": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            node("Add", "t", "d", to="s"),
            node("LayerNormalization", "s", "g", "h", to="l"),
            node("Transpose", "l", perm=[1, 0, 2]),
        ],
        {"d": drawn(1, STEPS, 1, SIZE), "g": drawn(2, SIZE), "h": drawn(3, SIZE)},
    ),
    "a softmax over steps before the batch": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            node("Softmax", "t", to="s", axis=0),
            node("Transpose", "s", perm=[1, 0, 2]),
        ],
        {},
    ),
    "the batch behind all others": (
        [
            node("Transpose", "x", to="t", perm=[1, 2, 0]),
            node("Exp", "t", to="e"),
            node("ReduceMean", "e", to="m", axes=[0], keepdims=0),
            node("Transpose", "m", perm=[1, 0]),
        ],
        {},
    ),
    "steps merged with the batch": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            node("Reshape", "t", "flat", to="f"),
            node("MatMul", "f", "v", to="m"),
            node("Relu", "m", to="r"),
            node("Reshape", "r", "apart", to="a"),
            node("Transpose", "a", perm=[1, 0, 2]),
        ],
        {"flat": np.array([-1, SIZE]), "v": drawn(1, SIZE, 3), "apart": np.array([STEPS, -1, 3])},
    ),
    "parts of steps before the batch": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            helper.make_node("Split", ["t", "sizes"], ["a", "b"], axis=0),
            node("Concat", "b", "a", to="c", axis=0),
            node("Slice", "c", "one", "four", "zero", to="d"),
            node("Gather", "d", "last", axis=0),
        ],
        {
            "sizes": np.array([2, 3]),
            "one": np.array([1]),
            "four": np.array([4]),
            "zero": np.array([0]),
            "last": np.array(-1),
        },
    ),
}


def read_and_compare(made, shape, folder):
    net = read_onnx(saved(made, folder))
    for n in (1, 3, 11):
        x = drawn(n, n, *shape)
        y, theirs = net.run(x)["y"], expected(made, x)
        assert y.shape == theirs.shape
        np.testing.assert_allclose(y, theirs, rtol=1e-4, atol=1e-5)
    return net


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_onnxruntime(name, tmp_path):
    nodes, constants = CASES[name]
    read_and_compare(model(nodes, (STEPS, SIZE), constants), (STEPS, SIZE), tmp_path)


def test_images_merged_with_the_batch_have_one_convolution(tmp_path):
    """Frames of films: each is an example of the convolution."""
    nodes = [
        node("Reshape", "x", "frames", to="f"),
        node("Conv", "f", "w", "b", to="c"),
        node("BatchNormalization", "c", "g", "g", "b", "v", to="n"),
        node("Relu", "n", to="r"),
        node("MaxPool", "r", to="p", kernel_shape=[2, 2]),
        node("Reshape", "p", "films"),
    ]
    arrays = {"w": drawn(1, 4, 2, 3, 3), "b": drawn(2, 4), "g": drawn(3, 4)}
    arrays |= {"v": np.ones(4, np.float32), "frames": np.array([-1, 2, 6, 6])}
    arrays["films"] = np.array([-1, 3, 36])
    net = read_and_compare(model(nodes, (3, 2, 6, 6), arrays), (3, 2, 6, 6), tmp_path)
    kinds = [place.layer.type_name for place in net.network.conf.stack]
    assert kinds.count("TimeDistributed") == 3


REFUSED = {
    "the batch as columns": (
        [
            node("Transpose", "x", to="t", perm=[1, 2, 0]),
            node("MatMul", "t", "square", to="m"),
            node("Transpose", "m", perm=[2, 0, 1]),
        ],
        "products along the batch",
    ),
    "two layouts": (
        [node("Transpose", "x", to="t", perm=[1, 0, 2]), node("Add", "x", "t")],
        "a batch along different axes",
    ),
    "an output with the batch elsewhere": (
        [node("Transpose", "x", perm=[1, 0, 2])],
        "an output whose first axis is not the batch",
    ),
    "a constant that differs from example to example": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            node("Add", "t", "three", to="m"),
            node("Transpose", "m", perm=[1, 0, 2]),
        ],
        "that varies",
    ),
    "a constant with more axes than rows": (
        [
            node("Reshape", "x", "flat", to="r"),
            node("Add", "r", "rows", to="s"),
            node("Softmax", "s", to="m", axis=1),
            node("Reshape", "m", "apart"),
        ],
        "a constant of more axes",
    ),
    "as many columns as examples": (
        [
            node("Shape", "x", to="s"),
            node("Slice", "s", "zero", "one", to="n"),
            node("ConstantOfShape", "n", to="c"),
            node("ReduceMax", "x", to="m", axes=[1, 2], keepdims=0),
            node("Reshape", "m", "column", to="k"),
            node("Add", "k", "c"),
        ],
        "numbers for each example along another axis",
    ),
    "an output of booleans": (
        [node("Greater", "x", "single")],
        "an output of integers or booleans",
    ),
    "an output without other axes": (
        [node("ReduceMax", "x", axes=[1, 2], keepdims=0)],
        "an output without an axis beside the batch",
    ),
    "a norm over the batch": (
        [
            node("Transpose", "x", to="t", perm=[1, 0, 2]),
            node("LayerNormalization", "t", "scales", to="m", axis=0),
            node("Transpose", "m", perm=[1, 0, 2]),
        ],
        "norms over the batch",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_other_numbers_is_refused(name, tmp_path):
    nodes, why = REFUSED[name]
    path = tmp_path / "net.onnx"
    arrays = {"rows": drawn(1, 1, 1, SIZE), "flat": np.array([-1, SIZE]), "one": np.array([1])}
    arrays |= {"apart": np.array([-1, STEPS, SIZE]), "column": np.array([-1, 1])}
    arrays |= {"zero": np.array([0]), "single": np.float32(0)}
    arrays |= {"square": drawn(1, 3, 3), "three": drawn(2, 1, 3, 1), "scales": drawn(3, 1, 3, SIZE)}
    made = model(nodes, (STEPS, SIZE), arrays, inferred=False)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match=why):
        read_onnx(str(path))


def test_weights_of_a_layer_that_is_called_twice_are_shared(tmp_path, caplog):
    """Each call has its own first states, zeros for each example, which are no weights."""
    nodes = [node("Transpose", "x", to="t", perm=[1, 0, 2]), *length("t", "second", "n")]
    for call in "ab":
        nodes += [
            node("Concat", "one", "n", "width", to=f"{call}k", axis=0),
            node("ConstantOfShape", f"{call}k", to=f"{call}h"),
            helper.make_node(
                "GRU", ["t", "w", "r", "bias", "", f"{call}h"], ["", call], hidden_size=WIDTH
            ),
        ]
    nodes += [node("Add", "a", "b", to="s"), node("Reshape", "s", "rows")]
    arrays = {"w": drawn(1, 1, 3 * WIDTH, SIZE), "r": drawn(2, 1, 3 * WIDTH, WIDTH)}
    arrays |= {"bias": drawn(3, 1, 6 * WIDTH), "one": np.array([1]), "second": np.array(1)}
    arrays |= {"at0": np.array([0]), "width": np.array([WIDTH]), "rows": np.array([-1, WIDTH])}
    net = read_and_compare(model(nodes, (STEPS, SIZE), arrays), (STEPS, SIZE), tmp_path)
    assert len(net.network.conf.params_layout.views(net.network.state.params)) == 3
    assert not caplog.records
