"""Scales and shifts are folded into products: onnxruntime's numbers with fewer operations."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, compile, ops
from sparkdl.interop.onnx.compiled.scales import fold_scales
from sparkdl.interop.onnx.compiled.tracing import Trace
from sparkdl.interop.onnx.forward.body import Body
from tests.interop.onnx.models import drawn, expected, model, node

CONSTANTS = {
    "half": np.float32(0.5),
    "less": np.array([-2], np.float32),
    "none": np.float32(0),
    "row": drawn(1, 6),
    "channels": drawn(2, 1, 6, 1, 1),
    "pairs": drawn(3, 6, 2, 3, 3),
    "deep": drawn(4, 6, 1, 3, 3),
    "point": drawn(5, 6, 6, 1, 1),
    "up": drawn(6, 6, 3, 2, 2),
    "rows": drawn(7, 4, 6),
    "stack": drawn(8, 2, 4, 3),
    "tall": drawn(10, 3, 1),
}
PAD, DEEP, WIDE = {"pads": [1, 1, 1, 1]}, {"group": 6}, (6, 5, 4)
CASES = {  # name: (steps "op inputs", where x is the previous output; shape; operations left)
    "behind": (["Conv x pairs", "Mul x channels", "Add half x", "Div x less"], (2, 5, 4), 2),
    "from": (["Conv x deep", "Sub channels x"], WIDE, 2),
    "before": (["Mul x half", "Add x channels", "Conv x point", "Sub x less"], WIDE, 2),
    "depthwise": (["Sub channels x", "Conv x deep"], WIDE, 2),
    "padding sees no shift": (["Add x half", "Conv x deep pad"], WIDE, 2),
    "padding sees scales": (["Mul x channels", "Conv x deep pad"], WIDE, 2),
    "between": (
        ["Conv x pairs", "Relu x", "Mul x half", "Sub x less", "Conv x point"],
        (2, 5, 4),
        4,
    ),
    "transposed": (["ConvTranspose x up", "Mul channels x", "Add x half"], WIDE, 2),
    "of rows": (["MatMul x rows", "Div x half", "Add row x"], (4,), 2),
    "of more axes": (["MatMul x rows", "Div x half", "Add row x"], (3, 4), 4),
    "of stacks": (["MatMul x stack", "Mul x tall"], (3, 4), 2),
    "of stacks by a number": (["MatMul x stack", "Mul x half", "Add x less"], (5, 4), 3),
    "quotients stay": (["MatMul x rows", "Div half x"], (4,), 2),
    "infinite ones stay": (["Conv x pairs", "Div x none"], (2, 5, 4), 2),
}


def nodes_of(steps):
    x = "x"
    for place, step in enumerate(steps):
        op, *inputs = step.split()
        to = "y" if place == len(steps) - 1 else f"t{place}"
        given = [x if name == "x" else name for name in inputs if name != "pad"]
        options = PAD if "pad" in inputs else {}
        options = options | ({"group": 2} if "up" in inputs else DEEP if "deep" in inputs else {})
        yield node(op, *given, to=to, **options)
        x = to


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_onnxruntime_in_fewer_operations(name):
    steps, shape, count = CASES[name]
    made, x = model(list(nodes_of(steps)), shape, CONSTANTS), drawn(9, 2, *shape)
    body, refused = Body(made.graph, "net", 17, []), []
    with np.errstate(all="ignore"):
        graph = fold_scales(Trace(body, {"x": Spec(x.shape)}).graph)
        ours = compile(graph).run({"x": x})["y"]
    np.testing.assert_allclose(ours, expected(made, x), rtol=1e-4, atol=1e-5)
    assert len(graph.nodes) == count
    assert not refused


def test_a_product_that_others_read_stays():
    x, w = Tensor(Spec((4, 4)), name="x"), CONSTANTS["rows"]
    rows = x @ w
    graph = fold_scales(Graph({"x": x}, {"y": rows, "z": rows * np.float32(2)}))
    assert [each.op.kind for each in graph.nodes] == ["MatMul", "Mul"]
    wide, high = ops.reshape(rows, (2, 2, 6)), ops.reshape(rows, (1, 4, 6))
    both = {"y": wide * np.float32(2), "z": high * np.float32(3)}
    graph = fold_scales(Graph({"x": x}, both))
    assert sum(each.op.kind == "MatMul" for each in graph.nodes) == 1
