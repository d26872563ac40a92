"""Layer normalization of images and volumes in a network, against float64."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.nn import Conv2D, LayerNorm, NetworkConf, Output, forward
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers import Conv3D
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import value_and_gradients


@pytest.mark.parametrize("in_shape", [(4, 3, 5), (4, 1, 5), (1, 3, 5), (4, 3, 1)], ids=str)
@pytest.mark.parametrize("volume", [False, True], ids=["images", "volumes"])
@pytest.mark.parametrize("n", [1, 2])
def test_layer_norm_before_rows_has_the_gradient_of_float64(in_shape, volume, n, rng):
    """A final minibatch of one example is a single row whose gradient is reshaped to an image."""
    kind, shape = (Conv3D, (*in_shape, 2)) if volume else (Conv2D, in_shape)
    stack = [kind(filters=4, kernel_size=3, padding=1), LayerNorm(), Output(units=3, loss="mse")]
    conf = NetworkConf(input_shape=shape, layers=stack)
    replica = Replica(conf)
    x = rng.normal(size=(n, *shape)).astype(np.float32)
    labels = rng.normal(size=(n, 3)).astype(np.float32)
    batch = Batch(columns={"features": x, "labels": labels}, ids=np.arange(n, dtype=np.uint64))
    replica.gradient(batch)
    views = conf.params_layout.views(replica.params.astype(np.float64))

    def loss(*params):
        z = forward(conf, dict(zip(views, params)), {}, x.astype(np.float64), training=True).logits
        return ops.mean(ops.square(ops.sub(z, labels.astype(np.float64))))

    _, expected = value_and_gradients(loss, *views.values())
    for (name, found), wanted in zip(conf.params_layout.views(replica.grad).items(), expected):
        limit = 1e-3 * np.abs(expected[0]).max()
        np.testing.assert_allclose(found, wanted, 1e-3, limit, err_msg=name)


MASK = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize("axes", [(0, 1), 0, -2], ids=str)
@pytest.mark.parametrize("scale, shift", [(True, True), (False, True), (True, False)])
def test_statistics_over_time_are_of_the_steps_that_are_there(axes, scale, shift, rng):
    layer, x = LayerNorm(axes=axes, scale=scale, shift=shift), rng.normal(2, 3, size=(3, 4, 2))
    x[MASK == 0] = np.nan
    params = {n: rng.normal(size=s) for n, s in layer.param_shapes((4, 2)).items()}
    y = layer.forward(params, x, Run(training=True, seed=0, masks=(MASK,)))
    along = (0, 1) if axes == (0, 1) else 0
    per_step = {n: p if p.ndim == 2 else p[:, None] for n, p in params.items()}
    for i, mask in enumerate(MASK[:2] > 0):
        there = x[i][mask]
        hat = (there - there.mean(along)) / np.sqrt(there.var(along) + 1e-5)
        gamma, beta = (per_step.get(n, np.full((4, 1), d)) for n, d in (("gamma", 1), ("beta", 0)))
        np.testing.assert_allclose(y[i][mask], (hat * gamma[mask] + beta[mask]), rtol=1e-10)
    assert np.isfinite(y).all()


@pytest.mark.parametrize("axes", [None, -1, (0, 1), 0], ids=str)
def test_a_mask_of_ones_is_as_good_as_none(axes, rng):
    layer, x = LayerNorm(axes=axes), rng.normal(2, 3, size=(3, 4, 2))
    params = {n: rng.normal(size=s) for n, s in layer.param_shapes((4, 2)).items()}
    runs = [Run(training=True, seed=0, masks=masks) for masks in ((np.ones((3, 4)),), ())]
    np.testing.assert_allclose(*(layer.forward(params, x, run) for run in runs), rtol=1e-10)
