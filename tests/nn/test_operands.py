"""Every layer and network builds on oneDNN without an operand that a kernel would misread."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, backends, compile, gradients, ops
from sparkdl.engine.dtypes import is_float
from sparkdl.nn import zoo
from sparkdl.nn.execution.replica import Replica
from tests.nn.layers.core.test_base import COMPARED, drawn, given, normal, run_of
from tests.nn.layers.core.test_base import batch_of as inputs_of
from tests.nn.networks.test_graph import batch_of
from tests.support.tables import first_of_each, for_all, kind_of_layer

pytestmark = pytest.mark.skipif(backends.get("auto").name != "onednn", reason="libdnnl is missing")
KINDS = ["float32", "bfloat16"]


def of_kind(arrays, kind):
    return {n: a.astype(kind) if is_float(a.dtype) else a for n, a in arrays.items()}


@pytest.mark.parametrize("layer, in_shape", first_of_each(COMPARED, kind_of_layer), ids=str)
def test_every_layer_builds_with_its_gradients(layer, in_shape):
    def check(way):
        build(layer, in_shape, *way, np.random.default_rng(12))

    for_all(product(KINDS, (True, False)), check)


def build(layer, in_shape, kind, training, rng):
    """Compiles a layer, with its gradients if `training`."""
    params = of_kind(drawn(layer.param_shapes(in_shape), rng), "float32")
    params |= of_kind({name: params[name] for name in layer.penalized}, kind)
    xs = inputs_of(layer, in_shape, normal(rng))
    xs = of_kind({f"x{i}": x for i, x in enumerate(xs)}, kind)
    inputs = {n: Tensor(Spec(a.shape, a.dtype.name), name=n) for n, a in (params | xs).items()}
    run = run_of(layer, in_shape, rng, training)
    run.buffers.update({n: b.astype(np.float32) for n, b in run.buffers.items()})
    of_layer = {n: t for n, t in inputs.items() if n in params}
    y = layer.forward(of_layer, given(layer, tuple(inputs[n] for n in xs)), run)
    outputs = {"y": y}
    if training and is_float(y.dtype):
        there = [t for t in inputs.values() if is_float(t.dtype)]
        grads = gradients(ops.sum(ops.cast(y, "float32")), there)
        outputs |= {f"g{i}": g for i, g in enumerate(grads)}
    compile(Graph(inputs, outputs), "onednn")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["lenet", "cifar10_quick", "char_lstm"])
def test_small_networks_build(name, kind, rng):
    conf = replace(getattr(zoo, name)(), dtype=kind)
    replica = Replica(conf, "onednn")
    assert np.isfinite(replica.gradient(batch_of(conf, rng, 2))[0])
