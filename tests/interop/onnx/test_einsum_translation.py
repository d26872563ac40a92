"""Einsum of two operands, against onnxruntime."""

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx import read_onnx
from tests.interop.onnx.models import drawn, expected, model, node, saved

X, W = (3, 4), drawn(1, 4, 2, 5)
OTHER = node("Exp", "x", to="e")
CASES = {
    "btd,bsd->bts": ("x", "e"),
    "btd,bsd->bst": ("x", "e"),
    "btd,btd->bt": ("x", "e"),
    "btd,btd->btd": ("x", "e"),
    "btd,bse->btdse": ("x", "e"),
    "btd,dhe->bthe": ("x", "w"),
    "btd,dhe->bhte": ("x", "w"),
    "dhe,btd->beht": ("w", "x"),
}
REFUSED = {
    "btd,bsd->tbs": ("x", "e"),
    "btd,bsd->ts": ("x", "e"),
    "btd,bsd->b": ("x", "e"),
    "btt,dhe->b": ("x", "w"),
    "btd,dhe->btd": ("x", "w"),
    "btd,dhe->bdhe": ("x", "w"),
    "...d,dhe->...he": ("x", "w"),
}


def made_of(equation, operands, inferred=True):
    nodes = [node("Einsum", *operands, equation=equation)]
    nodes = [OTHER, *nodes] if "e" in operands else nodes
    return model(nodes, X, {"w": W} if "w" in operands else {}, inferred=inferred)


@pytest.mark.parametrize("equation", CASES)
def test_outputs_are_those_of_onnxruntime(equation, tmp_path):
    made = made_of(equation, CASES[equation])
    net = read_onnx(saved(made, tmp_path))
    for n in (1, 3):
        x = drawn(n, n, *X)
        y, theirs = net.run(x)["y"], expected(made, x)
        assert y.shape == theirs.shape
        np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("equation", ["btd,btd->b", "btd,td->b"])
def test_a_sum_over_all_axes_has_none_beside_the_batch(equation, tmp_path):
    second = "e" if equation.count("b") == 3 else "v"
    sums = [OTHER, node("Einsum", "x", second, to="s", equation=equation)]
    constants = {"v": drawn(2, *X), "last": np.array([-1])}
    made = model([*sums, node("Unsqueeze", "s", "last")], X, constants)
    x = drawn(1, 3, *X)
    y, theirs = read_onnx(saved(made, tmp_path)).run(x)["y"], expected(made, x)
    assert y.shape == theirs.shape == (3, 1)
    np.testing.assert_allclose(y, theirs, rtol=1e-5, atol=1e-5)
    made = model([*sums, node("Identity", "s")], X, constants)
    with pytest.raises(UnsupportedError, match="without an axis beside the batch"):
        read_onnx(saved(made, tmp_path))


@pytest.mark.parametrize("equation", REFUSED)
def test_others_are_refused(equation, tmp_path):
    made = made_of(equation, REFUSED[equation], inferred=False)
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnsupportedError, match=r"y \(Einsum\)"):
        read_onnx(str(path))
