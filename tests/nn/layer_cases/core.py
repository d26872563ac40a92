"""Layers of a plain convolutional network, and their jax equivalents."""

import jax
import jax.numpy as jnp
import numpy as np

from sparkdl.engine import ops
from sparkdl.nn import layers
from tests.nn.jax_activations import THEIRS as ACTIVATED
from tests.nn.layer_cases.place import EPOCH, IDS, SEED, STREAM

LAYERS = [
    (layers.Dense(units=3), (4,)),
    (layers.Dense(units=3, bias=False, activation="tanh", initializer="he", l1=0.1, l2=0.2), (4,)),
    (layers.Dense(units=2, activation={"type": "leaky_relu", "alpha": 0.1}), (4,)),
    (layers.DenseTranspose(units=3), (4,)),
    (layers.DenseTranspose(units=3, bias=False, activation="tanh", l2=0.2), (2, 4)),
    (layers.BatchNorm(), (4,)),
    (layers.BatchNorm(momentum=0.5, epsilon=1e-3), (3, 2, 4)),
    (layers.BatchNorm(scale=False), (2, 4)),
    (layers.BatchNorm(shift=False, variance="unbiased"), (2, 2, 3, 2)),
    (layers.BatchNorm(debias=True), (2, 3, 2)),
    (layers.Dropout(rate=0.3), (20,)),
    (layers.Dropout(), (2, 3, 4)),
    (layers.Activation("relu"), (4,)),
    (layers.Activation("softmax"), (3, 2, 2)),
    (layers.Flatten(), (2, 3, 4)),
    (layers.Output(units=3), (4,)),
    (layers.Output(units=2, loss="mse", bias=False, name="score"), (4,)),
]


def dense(layer, params, x, buffers, training):
    y = x @ params["W"] + params.get("b", 0)
    function = getattr(layer, "activation", None)
    return y if function is None else ACTIVATED[function.type_name](function, y)


def dense_transpose(layer, params, x, buffers, training):
    return dense(layer, params | {"W": params["W"].T}, x, buffers, training)


def batch_norm(layer, params, x, buffers, training):
    channel = 2 if x.ndim == 3 else 1
    axes = tuple(i for i in range(x.ndim) if i != channel)
    shape = [x.shape[i] if i == channel else 1 for i in range(x.ndim)]
    seen = buffers.get("weight", 1)
    kept = buffers["mean"] / seen, buffers["variance"] / seen
    mean, variance = (x.mean(axes), x.var(axes)) if training else kept
    hat = (x - mean.reshape(shape)) / jnp.sqrt(variance + layer.epsilon).reshape(shape)
    gamma = params["gamma"].reshape(shape) if layer.scale else 1
    return hat * gamma + (params["beta"].reshape(shape) if layer.shift else 0)


def dropout(layer, params, x, buffers, training):
    if not training:
        return x
    kept = ops.uniform(IDS, EPOCH, x.shape[1:], SEED, STREAM) >= np.float32(layer.rate)
    return x * kept / (1 - layer.rate)


def activation(layer, params, x, buffers, training):
    axis = 1 if x.ndim == 4 else -1
    return {"relu": jax.nn.relu, "softmax": lambda x: jax.nn.softmax(x, axis=axis)}[
        layer.function.type_name
    ](x)


THEIRS = {
    "Dense": dense,
    "DenseTranspose": dense_transpose,
    "Output": dense,
    "BatchNorm": batch_norm,
    "Dropout": dropout,
    "Activation": activation,
    "Flatten": lambda layer, params, x, buffers, training: x.reshape(len(x), -1),
}
