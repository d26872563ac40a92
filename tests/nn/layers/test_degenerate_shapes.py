"""Every layer on degenerate input: an empty batch, all zeros, or a fully masked sequence."""

from itertools import product

import numpy as np
import pytest

from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.errors import ShapeError
from sparkdl.nn.layers.core.run import Run
from tests.engine.support import feeds, tensors
from tests.nn.layer_cases import LAYERS
from tests.nn.layer_cases.place import EPOCH, SEED, STREAM
from tests.nn.layers.core.test_base import BATCHWISE, INDEXED, STOPPING, drawn, given, indices
from tests.support.tables import first_of_each, for_all, kind_of_layer

SKIPPED = BATCHWISE | STOPPING
KEPT = [row for row in LAYERS if row[0].type_name not in SKIPPED]
MASKED = [row for row in KEPT if row[0].multi_input is False and len(row[1]) == 2]
BACKENDS = ["reference", "auto"]


def outputs(layer, in_shape, n, draw, backend, mask=None, training=True):
    """Returns {name: array} of a layer's output for n examples and its gradients."""
    rng = np.random.default_rng(0)
    kind = np.float64 if backend == "reference" else np.float32
    xs = [draw(rng, (n, *s)) for s in (in_shape if layer.multi_input else (in_shape,))]
    xs = [indices(layer, x) for x in xs] if layer.type_name in INDEXED else xs
    params, buffers = (
        drawn(find(in_shape), rng) for find in (layer.param_shapes, layer.buffer_shapes)
    )
    masks = [] if mask is None else [np.full((n, in_shape[0]), mask)]
    arrays = feeds([a.astype(kind) for a in (*xs, *params.values(), *buffers.values(), *masks)])
    inputs = tensors(**arrays)
    rest = iter(inputs.values())
    xs = tuple(next(rest) for _ in xs)
    params, buffers = ({name: next(rest) for name in d} for d in (params, buffers))
    ids = np.arange(n, dtype=np.uint64)
    options = {"seed": SEED, "stream": STREAM, "ids": ids, "epoch": EPOCH, "buffers": buffers}
    run = Run(training=training, masks=tuple(rest), **options)
    y = layer.forward(params, given(layer, xs), run)
    assert y.shape == (n, *layer.out_shape(in_shape))
    loss = ops.sum(ops.mul(y, rng.normal(size=y.shape).astype(kind)))
    for added in run.results.losses:
        loss = ops.add(loss, ops.sum(added))
    grads = gradients(loss, [*xs, *params.values()])
    named = {f"g{i}": grad for i, grad in enumerate(grads)} | dict(run.updates)
    return compile(Graph(inputs, {"y": y} | named), backend).run(arrays)


def zeros(rng, shape):
    return np.zeros(shape)


def normal(rng, shape):
    return rng.normal(size=shape)


@pytest.mark.parametrize("layer, in_shape", first_of_each(KEPT, kind_of_layer), ids=str)
def test_no_example_gives_nothing_and_gradients_of_0(layer, in_shape):
    normed = "BatchNorm" in str(layer)

    def check(way):
        training, backend = way
        if normed and training:
            with pytest.raises(ShapeError, match="batch_norm needs numbers to take the mean of"):
                outputs(layer, in_shape, 0, normal, backend)
            return
        found = outputs(layer, in_shape, 0, normal, backend, training=training)
        assert not found["y"].size
        assert not any(np.any(value) for name, value in found.items() if name[1:].isdigit())

    for_all(product((True, False), BACKENDS), check)


def compare(layer, in_shape, *options, **more):
    expected, found = (outputs(layer, in_shape, *options, name, **more) for name in BACKENDS)
    for name, value in expected.items():
        assert np.isfinite(value).all(), name
        limit = 1e-3 * max(np.abs(value).max(initial=0), 1e-2)
        np.testing.assert_allclose(found[name], value, 0, limit, err_msg=name)


@pytest.mark.parametrize("layer, in_shape", first_of_each(KEPT, kind_of_layer), ids=str)
def test_one_example_of_zeros_is_finite(layer, in_shape):
    compare(layer, in_shape, 1, zeros)
    compare(layer, in_shape, 1, zeros, training=False)


@pytest.mark.parametrize("layer, in_shape", MASKED, ids=str)
def test_sequences_without_a_step_are_finite(layer, in_shape):
    compare(layer, in_shape, 2, normal, mask=0.0)
