"""Softmax along the last axis, and lengths of the parts of a split axis, against numpy."""

import numpy as np
import pytest

from sparkdl.interop.axis_layers import lengths_of_parts, softmax_layers
from sparkdl.nn import GraphBuilder, LossLayer
from sparkdl.training.network import Network


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (2, 3, 4, 5)], ids=str)
def test_rows_add_up_to_one(shape):
    x = np.random.default_rng(0).normal(size=(4, *shape)).astype(np.float32)
    build = GraphBuilder()
    build.inputs = {"x": shape}
    name = "x"
    for layer in softmax_layers("softmax", shape):
        name = build.add(layer, name)
    build.add(LossLayer(loss="mse"), name)
    y = Network(build.conf()).features(x, name)[name]
    powers = np.exp(x)
    np.testing.assert_allclose(y, powers / powers.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("length, size", [(6, 2), (7, 3), (2, 5), (5, 5)])
def test_lengths_are_those_of_slices(length, size):
    parts = [np.arange(length)[start : start + size] for start in range(0, length, size)]
    assert lengths_of_parts(length, size) == [len(part) for part in parts]
