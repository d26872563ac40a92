"""Constraints read from Keras and written back, against Keras's own training."""

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras import read_keras
from tests.interop.keras.models import chain, drawn, keras, train
from tests.interop.keras.test_gradients import RATE, moved_by_keras
from tests.interop.keras.test_writing import again
from tests.support.tables import for_all, in_parts

L = keras.layers
STEPS, IMAGE, VOLUME = (5, 4), (5, 6, 2), (4, 4, 3, 2)


def within(axis, limit=0.3):
    return keras.constraints.MaxNorm(limit, axis=axis)


def windows(kind, axes, into, **options):
    """Returns (layer, shape) with the constraints `into` on its kernels and one on its bias."""
    build = getattr(L, f"{kind}{axes}D{options.pop('end', '')}")
    layer = build(kernel_size=2, bias_constraint=within(0), **options, **into)
    return layer, {1: STEPS, 2: IMAGE, 3: VOLUME}[axes]


def conv(axes, axis, **options):
    return windows("Conv", axes, {"kernel_constraint": within(axis)}, filters=3, **options)


def depthwise(axes, axis):
    into = {"depthwise_constraint": within(axis)}
    return windows("DepthwiseConv", axes, into, depth_multiplier=2)


def separable(axes, depthwise, pointwise, other=0.3):
    into = {"depthwise_constraint": within(depthwise, other)}
    into |= {"pointwise_constraint": within(pointwise)}
    return windows("SeparableConv", axes, into, filters=3, depth_multiplier=2)


def recurrent(kind, **options):
    both = {"kernel_constraint": within(0), "recurrent_constraint": within(0)}
    return getattr(L, kind)(3, **both, **options), STEPS


def attention(**options):
    x = keras.Input((5, 4))
    return keras.Model(x, L.MultiHeadAttention(2, 2, **options)(x, x))


# along the weights into one unit, as our norms are
RIGHT = {
    "dense": lambda: (L.Dense(3, kernel_constraint=within([0]), bias_constraint=within(0)), STEPS),
    "embedding": lambda: (L.Embedding(9, 3, embeddings_constraint=within(0)), (5,)),
    "lstm": lambda: recurrent("LSTM", bias_constraint=within(0)),
    "gru": lambda: recurrent("GRU", reset_after=False, bias_constraint=within(0)),
    "prelu": lambda: (L.PReLU(alpha_constraint=within([0, 1, 2]), shared_axes=[1, 2]), IMAGE),
    "conv 1": lambda: conv(1, [0, 1]),
    "conv 2": lambda: conv(2, [0, 1, 2]),
    "conv 3": lambda: conv(3, [0, 1, 2, 3]),
    "transposed 1": lambda: conv(1, [0, 2], end="Transpose"),
    "transposed 2": lambda: conv(2, [0, 1, 3], end="Transpose"),
    "transposed 3": lambda: conv(3, [0, 1, 2, 4], end="Transpose"),
    "depthwise 1": lambda: depthwise(1, 0),
    "depthwise 2": lambda: depthwise(2, [0, 1]),
    "one column": lambda: (L.Conv2D(3, (2, 1), kernel_constraint=within([0, 2])), IMAGE),
    "one column, depthwise": lambda: (  # as in EEGNet
        L.DepthwiseConv2D((5, 1), depth_multiplier=2, depthwise_constraint=within(0)),
        IMAGE,
    ),
    "separable 1": lambda: separable(1, 0, [0, 1]),
    "separable 2": lambda: separable(2, [0, 1], [0, 1, 2]),
}
WRONG = {
    "dense": lambda: (L.Dense(3, kernel_constraint=within(1)), STEPS),
    "gru": lambda: recurrent("GRU", bias_constraint=within(0)),
    "prelu": lambda: (L.PReLU(alpha_constraint=within(0), shared_axes=[1, 2]), IMAGE),
    "conv, as Keras has it first": lambda: conv(2, 0),
    "conv, each channel": lambda: conv(2, [0, 1]),
    "transposed": lambda: conv(2, [0, 1, 2], end="Transpose"),
    "depthwise": lambda: depthwise(2, [0, 1, 2]),
    "separable": lambda: separable(2, 0, 0),
    "separable, two limits": lambda: separable(2, [0, 1], [0, 1, 2], 0.4),
}


def compiled(name):
    """Returns (model, x, y)."""
    layer, shape = RIGHT[name]()
    model = chain(layer, L.Flatten(), shape=shape)
    model.compile(keras.optimizers.SGD(RATE), "mse")
    x = drawn(2, 3, *shape)
    x = np.floor(np.abs(x) * 3) if name == "embedding" else x
    return model, x, drawn(3, 3, *model.output_shape[1:])


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(RIGHT))
def test_norms_are_along_the_same_axes(names, tmp_path):
    def check(name):
        model, x, y = compiled(name)
        ours = read_keras(model).network
        back = again(ours, tmp_path)
        train(ours, x, y, 1)
        moved_by_keras(model, x, y)
        theirs = read_keras(model).network.state.params
        np.testing.assert_allclose(ours.state.params, theirs, rtol=1e-4, atol=1e-5)
        moved_by_keras(back, x, y)
        for one, other in zip(back.weights, model.weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

    for_all(names, check)


@pytest.mark.slow
def test_norms_along_other_axes_are_refused():
    def check(name):
        layer, shape = WRONG[name]()
        with pytest.raises(UnsupportedError, match=f"{layer.name} .* is not supported"):
            read_keras(chain(layer, shape=shape).to_json())

    for_all(WRONG, check)
    with pytest.raises(UnsupportedError, match=r"axis=0 .*; give axis=\[0, 1, 2\]"):
        read_keras(chain(conv(2, 0)[0], shape=IMAGE).to_json())


def test_norms_of_heads_are_refused():
    for name in ("kernel_constraint", "bias_constraint"):
        with pytest.raises(UnsupportedError, match="MaxNorm along axis=0 is not supported"):
            read_keras(attention(**{name: within(0)}).to_json())
    above = keras.constraints.NonNeg()
    read_keras(attention(kernel_constraint=above, bias_constraint=above).to_json())
