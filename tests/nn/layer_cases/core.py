"""The layers of a plain convolutional network, and the same in jax."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sparkdl.engine import ops
from sparkdl.nn import layers
from tests.nn.jax_activations import THEIRS as ACTIVATED
from tests.nn.layer_cases.place import EPOCH, IDS, SEED, STREAM

LAYERS = [
    (layers.Dense(units=3), (4,)),
    (layers.Dense(units=3, bias=False, activation="tanh", initializer="he", l1=0.1, l2=0.2), (4,)),
    (layers.Dense(units=2, activation={"type": "leaky_relu", "alpha": 0.1}), (4,)),
    (layers.Conv2D(filters=3, kernel=2), (2, 5, 4)),
    (layers.Conv2D(filters=4, kernel=(3, 2), stride=(2, 1), padding=(1, 0), groups=2), (2, 6, 5)),
    (layers.Conv2D(filters=2, kernel=3, dilation=2, bias=False, activation="relu"), (1, 7, 6)),
    (layers.Conv2D(filters=2, kernel=(2, 3), stride=2, padding="same"), (3, 5, 6)),
    (layers.Conv2D(filters=2, kernel=3, padding=((1, 0), (2, 1))), (1, 4, 4)),
    (layers.MaxPool2D(size=2), (2, 5, 4)),
    (layers.MaxPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.MaxPool2D(size=3, stride=2, rounding="ceil"), (2, 6, 8)),
    (layers.MaxPool2D(size=(2, 3), stride=(1, 2), padding="same"), (1, 5, 6)),
    (layers.AvgPool2D(size=2), (2, 5, 4)),
    (layers.AvgPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, count_padding=True), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, rounding="ceil", count_padding=True), (1, 6, 8)),
    (layers.AvgPool2D(size=2, stride=2, rounding="ceil"), (1, 5, 5)),
    (layers.GlobalPool(), (3, 4, 5)),
    (layers.GlobalPool(kind="max"), (3, 4, 5)),
    (layers.GlobalPool(kind="sum"), (3, 4, 5)),
    (layers.BatchNorm(), (4,)),
    (layers.BatchNorm(momentum=0.5, epsilon=1e-3), (3, 2, 4)),
    (layers.BatchNorm(scale=False), (2, 4)),
    (layers.BatchNorm(shift=False, variance="unbiased"), (2, 2, 3, 2)),
    (layers.Dropout(rate=0.3), (20,)),
    (layers.Dropout(), (2, 3, 4)),
    (layers.Activation(function="relu"), (4,)),
    (layers.Activation(function="softmax"), (3, 2, 2)),
    (layers.Flatten(), (2, 3, 4)),
    (layers.Output(units=3), (4,)),
    (layers.Output(units=2, loss="mse", bias=False, name="score"), (4,)),
]


def dense(layer, params, x, buffers, training):
    y = x @ params["W"] + params.get("b", 0)
    function = getattr(layer, "activation", None)
    return y if function is None else ACTIVATED[function.type_name](function, y)


def sides(layer, in_shape):
    """Padding as lax takes it, from each layer's own words."""
    if layer.padding == "same":
        return "SAME"
    both = layer.padding if isinstance(layer.padding, tuple) else (layer.padding,) * 2
    return [side if isinstance(side, tuple) else (side, side) for side in both]


def two(value):
    return value if isinstance(value, tuple) else (value, value)


def conv2d(layer, params, x, buffers, training):
    y = lax.conv_general_dilated(
        x,
        params["W"],
        two(layer.stride),
        sides(layer, x.shape),
        rhs_dilation=two(layer.dilation),
        feature_group_count=layer.groups,
    )
    y = y + params["b"][:, None, None] if layer.bias else y
    return y if layer.activation is None else jax.nn.relu(y)


def windows(layer, x, start, combine):
    """reduce_window, with what `ceil` adds at the bottom and right put there first."""
    size, stride = two(layer.size), two(layer.size if layer.stride is None else layer.stride)
    padding = sides(layer, x.shape)
    if layer.rounding == "ceil":
        out = layer.out_shape(x.shape[1:])[1:]
        spans = [(m - 1) * s + k for m, s, k in zip(out, stride, size)]
        more = [span - n - sum(p) for span, n, p in zip(spans, x.shape[2:], padding)]
        padding = [(a, b + max(0, m)) for (a, b), m in zip(padding, more)]
    if padding != "SAME":
        padding = [(0, 0), (0, 0), *padding]
    return lax.reduce_window(x, start, combine, (1, 1, *size), (1, 1, *stride), padding)


def max_pool(layer, params, x, buffers, training):
    return windows(layer, x, -jnp.inf, lax.max)


def avg_pool(layer, params, x, buffers, training):
    if not layer.count_padding:
        return windows(layer, x, 0.0, lax.add) / windows(layer, jnp.ones_like(x), 0.0, lax.add)
    padding = [(0, 0), (0, 0), *sides(layer, x.shape)]
    x = jnp.pad(x, padding)
    bare = type(layer)(size=layer.size, stride=layer.stride, rounding=layer.rounding)
    return windows(bare, x, 0.0, lax.add) / windows(bare, jnp.ones_like(x), 0.0, lax.add)


def global_pool(layer, params, x, buffers, training):
    return {"avg": jnp.mean, "max": jnp.max, "sum": jnp.sum}[layer.kind](x, axis=(2, 3))


def batch_norm(layer, params, x, buffers, training):
    channel = 2 if x.ndim == 3 else 1
    axes = tuple(i for i in range(x.ndim) if i != channel)
    shape = [x.shape[i] if i == channel else 1 for i in range(x.ndim)]
    mean, variance = (
        (x.mean(axes), x.var(axes)) if training else (buffers["mean"], buffers["variance"])
    )
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
    "Output": dense,
    "Conv2D": conv2d,
    "MaxPool2D": max_pool,
    "AvgPool2D": avg_pool,
    "GlobalPool": global_pool,
    "BatchNorm": batch_norm,
    "Dropout": dropout,
    "Activation": activation,
    "Flatten": lambda layer, params, x, buffers, training: x.reshape(len(x), -1),
}
