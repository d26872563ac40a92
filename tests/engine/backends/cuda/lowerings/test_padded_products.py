"""Products of matrices with odd rows: of padded copies where there is much work."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.lowerings import padded_products
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import trace, with_gradients

ODD = 35


@pytest.fixture(autouse=True)
def padded(monkeypatch, cuda):
    """The products for which copies were made."""
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_libraries")
    monkeypatch.setattr(padded_products, "WORK", 0)
    found, pad_rows = [], padded_products.padded

    def recorded(device, name, matrix):
        found.append((name, matrix.shape))
        return pad_rows(device, name, matrix)

    monkeypatch.setattr(padded_products, "padded", recorded)
    return found


def numbers(*shape, kind=BFLOAT16):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32).astype(kind)


@pytest.mark.parametrize("tx", [False, True])
@pytest.mark.parametrize("ty", [False, True])
@pytest.mark.parametrize("shape", [(16, 24, ODD), (ODD, 24, 16), (16, ODD, 24), (3, 5, 7)])
def test_each_orientation(padded, shape, tx, ty):
    m, k, n = shape
    x, w = numbers(*((k, m) if tx else (m, k))), numbers(*((n, k) if ty else (k, n)))
    assert_same(trace(lambda x, w: ops.matmul(x, w, tx, ty), x, w), [x, w], 1e-2, runs=3)
    rows = {"x": m if tx else k, "w": k if ty else n, "y": n}
    assert {name for name, _ in padded} == {name for name, length in rows.items() if length % 8}


def test_a_layer_and_its_gradients(padded):
    x, w, b = numbers(16, 24), numbers(24, ODD), numbers(ODD)
    graph = with_gradients(lambda x, w, b: ops.relu(ops.add_bias(ops.matmul(x, w), b, 1)), x, w, b)
    assert_same(graph, [x, w, b], 2e-2, runs=3)
    assert {name for name, _ in padded} == {"x", "w", "y"}


@pytest.mark.parametrize(("kind", "n"), [("float32", ODD), (BFLOAT16, 32)])
def test_what_gains_nothing_is_not_copied(padded, kind, n):
    x, w = numbers(16, 24, kind=kind), numbers(24, n, kind=kind)
    assert_same(trace(ops.matmul, x, w), [x, w], 1e-2, runs=2)
    assert not padded
