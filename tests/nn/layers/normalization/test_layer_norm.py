"""Layer normalization of images and volumes in a network, against float64."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.nn import Conv2D, LayerNorm, NetworkConf, Output, forward
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers import Conv3D
from tests.nn.support import value_and_gradients


@pytest.mark.parametrize("in_shape", [(4, 3, 5), (4, 1, 5), (1, 3, 5), (4, 3, 1)], ids=str)
@pytest.mark.parametrize("volume", [False, True], ids=["images", "volumes"])
@pytest.mark.parametrize("n", [1, 2])
def test_layer_norm_before_rows_has_the_gradient_of_float64(in_shape, volume, n, rng):
    """A last minibatch of one example is a row whose gradient goes back into an image."""
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
