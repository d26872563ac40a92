"""Strided convolutions of few channels, computed on blocks of pixels: the reference's numbers."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends import base
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import ops_of, trace, with_gradients


@pytest.fixture(autouse=True)
def cudnn(monkeypatch, cuda):
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_cudnn")


def drawn(kind, *shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32).astype(kind)


# (channels, rows, columns), size, stride, padding
LAYERS = {
    "alexnet": ((3, 35, 27), 11, 4, 0),
    "resnet": ((3, 17, 14), 7, 2, 3),
    "inception": ((3, 15, 16), 3, 2, 0),
    "gray": ((1, 12, 12), 5, 3, ((1, 0), (2, 1))),
    "a size that is a multiple": ((2, 16, 16), 4, 4, 0),
    "smaller than its stride": ((3, 13, 13), 1, 2, 0),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("source", ["float32", BFLOAT16])
def test_a_layer_and_its_gradient(name, source):
    (c, *space), size, stride, padding = LAYERS[name]
    x, w = drawn(source, 2, c, *space), drawn(BFLOAT16, 8, c, size, size)
    graph = with_gradients(
        lambda w, x: ops.relu(ops.conv(ops.cast(x, BFLOAT16), w, stride, padding)), w, x
    )
    program = assert_same(graph, (w, x), 2e-2)
    assert ops_of(program).count("SpaceToDepth") == 1
    convolutions = [s for s in program.steps if s.op.startswith(("Conv", "ConvGradWeight"))]
    weights = [s for s in convolutions if not s.op.startswith("ConvGradInput")]
    assert all(s.node.op.stride == (1, 1) for s in weights if hasattr(s.node.op, "stride"))


OTHERS = {
    "of one stride": (drawn(BFLOAT16, 2, 3, 9, 9), 1, 1),
    "of two strides": (drawn(BFLOAT16, 2, 3, 9, 9), (1, 2), 1),
    "of many channels": (drawn(BFLOAT16, 2, 8, 9, 9), 2, 1),
    "of float32": (drawn("float32", 2, 3, 9, 9), 2, 1),
    "dilated": (drawn(BFLOAT16, 2, 3, 9, 9), 2, 2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_convolutions_stay(name):
    x, stride, dilation = OTHERS[name]
    w = drawn(x.dtype, 8, x.shape[1], 3, 3)
    graph = trace(lambda x, w: ops.conv(x, w, stride, 1, dilation), x, w)
    assert "SpaceToDepth" not in ops_of(assert_same(graph, (x, w), 2e-2, runs=1))
