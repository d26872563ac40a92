"""Convolutional networks on a test double of the cuDNN module train as the reference does."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.nn import Activation, Conv2D, ElementWise, GlobalPool, GraphBuilder, Output, zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.zoo.googlenet import inception
from sparkdl.nn.zoo.resnet import add_convolution, basic
from tests.nn.networks.test_graph import batch_of
from tests.nn.test_cuda import distance
from tests.nn.zoo.test_transformer import SMALL, texts
from tests.support.cuda.on_host import require_compiler


def with_residuals():
    """Returns two resnet18 blocks, the second with a projection shortcut."""
    build = GraphBuilder(features=(3, 12, 10))
    stem = add_convolution(build, "features", 8, 3, 1, "stem")
    first = basic(build, stem, 8, 1, "block1")
    build.add(ElementWise(operation="add"), first, stem, name="sum1")
    relu = build.add(Activation("relu"), name="relu1")
    second = basic(build, relu, 16, 2, "block2")
    shortcut = add_convolution(build, relu, 16, 1, 2, "shortcut", relu=False)
    build.add(ElementWise(operation="add"), second, shortcut, name="sum2")
    build.add(Activation("relu"), name="relu2")
    build.add(GlobalPool(kind="avg"), name="pool")
    build.add(Output(units=5), name="output")
    return build.conf(initializer="he")


def with_inception():
    """Returns parallel convolution paths, each with bias and ReLU."""
    build = GraphBuilder(features=(3, 9, 8))
    stem = build.add(Conv2D(filters=8, kernel_size=3, activation="relu"), name="stem")
    inception(build, stem, (8, 4, 8, 4, 8, 8), "3a")
    build.add(GlobalPool(kind="avg"), name="pool")
    build.add(Output(units=5), name="output")
    return build.conf()


def with_attention():
    return zoo.transformer(**SMALL, initializer="xavier")


def images(conf):
    return batch_of(conf, np.random.default_rng(0), 4)


NETWORKS = {  # network, its batch, number of cuDNN graphs in float32 and in bfloat16
    "residual": (with_residuals, images, 12, 12),
    "inception": (with_inception, images, 0, 0),
    "attention": (with_attention, lambda conf: texts(4), 10, 14),
}


@pytest.fixture(autouse=True)
def cuda(monkeypatch, tmp_path):
    require_compiler()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.with_cudnn")


def trained(conf, backend, batch):
    """Returns (replica, losses) after two steps."""
    replica = Replica(conf, backend)
    return replica, [replica.step(batch, 1e-3, t) for t in (1, 2)]


@pytest.mark.parametrize("name", NETWORKS)
def test_two_steps_are_the_references(name):
    make, batch_for, graphs, _ = NETWORKS[name]
    batch = batch_for(conf := make())
    (own, losses), (other, expected) = (trained(conf, b, batch) for b in ("cuda", "reference"))
    np.testing.assert_allclose(losses, expected, 1e-5)
    assert distance(own.grad, other.grad) < 1e-4
    assert not len(own.buffers) or distance(own.buffers, other.buffers) < 1e-5
    by_cudnn(own, graphs)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_16_bits_are_no_further_from_float32_than_the_references(name, dtype):
    make, batch_for, _, graphs = NETWORKS[name]
    exact = make()
    conf, batch = replace(exact, dtype=dtype), batch_for(exact)
    own, other, best = (
        trained(c, b, batch)[0]
        for c, b in ((conf, "cuda"), (conf, "reference"), (exact, "reference"))
    )
    far = np.linalg.norm(other.grad - best.grad)
    assert np.linalg.norm(own.grad - best.grad) < 1.1 * far
    by_cudnn(own, graphs)


def by_cudnn(replica, graphs):
    """Asserts that cuDNN runs everything it can."""
    program, _ = replica.programs(4)
    ops = [node.op.kind for node in program.graph.nodes]
    assert ops.count("CudnnGraph") == graphs, program.describe()
    convolutions = [s for s in program.steps if "Conv" in s.op]
    assert all(s.kernel.startswith("cuDNN") for s in convolutions)
    assert not any(s.note for s in program.steps), program.describe()
