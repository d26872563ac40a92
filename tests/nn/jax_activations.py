"""Every activation function in jax: {type: function (activation, x)}."""

import jax
import jax.numpy as jnp


def rational_tanh(y):
    """The rational approximation that DL4J documents."""
    return jnp.sign(y) * (1 - 1 / (1 + jnp.abs(y) + y**2 + 1.41645 * y**4))


THEIRS = {
    "abs_val": lambda f, x: jnp.abs(x),
    "clip": lambda f, x: jnp.clip(x, f.low, f.high),
    "cube": lambda f, x: x**3,
    "elu": lambda f, x: jax.nn.elu(x, f.alpha),
    "erf": lambda f, x: jax.lax.erf(x),
    "exp": lambda f, x: (f.base or jnp.e) ** (f.shift + f.scale * x),
    "gelu": lambda f, x: jax.nn.gelu(x, approximate=f.approximate),
    "hard_sigmoid": lambda f, x: jnp.clip(f.slope * x + 0.5, 0, 1),
    "hard_tanh": lambda f, x: jax.nn.hard_tanh(x),
    "identity": lambda f, x: x,
    "leaky_relu": lambda f, x: jax.nn.leaky_relu(x, f.alpha),
    "log": lambda f, x: jnp.log(f.shift + f.scale * x) / jnp.log(f.base or jnp.e),
    "log_softmax": lambda f, x: jax.nn.log_softmax(x, axis=-1),
    "hard_swish": lambda f, x: jax.nn.hard_swish(x),
    "mish": lambda f, x: jax.nn.mish(x),
    "power": lambda f, x: (f.shift + f.scale * x) ** int(f.power),
    "rational_tanh": lambda f, x: 1.7159 * rational_tanh(2 * x / 3),
    "rectified_tanh": lambda f, x: jax.nn.relu(jnp.tanh(x)),
    "relu": lambda f, x: jax.nn.relu(x),
    "relu6": lambda f, x: jax.nn.relu6(x),
    "selu": lambda f, x: jax.nn.selu(x),
    "sigmoid": lambda f, x: jax.nn.sigmoid(x),
    "softmax": lambda f, x: jax.nn.softmax(x, axis=-1),
    "softplus": lambda f, x: jax.nn.softplus(x),
    "softsign": lambda f, x: jax.nn.soft_sign(x),
    "swish": lambda f, x: x * jax.nn.sigmoid(f.beta * x),
    "tanh": lambda f, x: jnp.tanh(x),
    "heaviside": lambda f, x: (x > f.threshold).astype(x.dtype),
    "thresholded_relu": lambda f, x: jnp.where(x > f.threshold, x, 0),
}
