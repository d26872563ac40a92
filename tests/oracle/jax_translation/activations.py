"""Activation functions, from the papers and libraries that their docstrings cite."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracle.jax_translation.seen import channel_axis

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al., eq. 14


def rational_tanh(f, x):
    """Computes 1.7159 tanh(2 x / 3) with DL4J's rational tanh, which is odd and smooth at 0."""
    y = 2 * x / 3
    size = jnp.abs(y)
    poly = 1 + size + y**2 + 1.41645 * y**4
    return 1.7159 * y * (1 + size + 1.41645 * size**3) / poly


def power(f, x):
    line = f.shift + f.scale * x
    whole = float(f.power).is_integer()
    return line ** int(f.power) if whole else line**f.power


def elu(x, alpha):
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.minimum(x, 0)))


FORMULAS = {
    "abs_val": lambda f, x: jnp.abs(x),
    "clip": lambda f, x: jnp.where(x < f.low, f.low, jnp.where(x > f.high, f.high, x)),
    "cube": lambda f, x: x * x * x,
    "elu": lambda f, x: elu(x, f.alpha),
    "erf": lambda f, x: 2 * jax.scipy.stats.norm.cdf(x * 2**0.5) - 1,
    "exp": lambda f, x: jnp.power(f.base or np.e, f.shift + f.scale * x),
    "gelu": lambda f, x: jax.nn.gelu(x, approximate=f.approximate),
    "hard_sigmoid": lambda f, x: jnp.clip(f.slope * x + 0.5, 0, 1),
    "hard_tanh": lambda f, x: jnp.clip(x, -1, 1),
    "identity": lambda f, x: x,
    "leaky_relu": lambda f, x: jnp.where(x > 0, x, f.alpha * x),
    "log": lambda f, x: jnp.log(f.shift + f.scale * x) / np.log(f.base or np.e),
    "log_softmax": lambda f, x: jax.nn.log_softmax(x, channel_axis(x)),
    "hard_swish": lambda f, x: x * jnp.clip(x + 3, 0, 6) / 6,
    "mish": lambda f, x: x * jnp.tanh(jax.nn.softplus(x)),
    "power": power,
    "rational_tanh": rational_tanh,
    "rectified_tanh": lambda f, x: jnp.where(x > 0, jnp.tanh(x), 0),
    "relu": lambda f, x: jnp.where(x > 0, x, 0),
    "relu6": lambda f, x: jnp.clip(x, 0, 6),
    "selu": lambda f, x: SELU_SCALE * elu(x, SELU_ALPHA),
    "sigmoid": lambda f, x: jax.nn.sigmoid(x),
    "softmax": lambda f, x: jax.nn.softmax(x, channel_axis(x)),
    "softplus": lambda f, x: jnp.logaddexp(x, 0),
    "softsign": lambda f, x: x / (1 + jnp.abs(x)),
    "swish": lambda f, x: x * jax.nn.sigmoid(f.beta * x),
    "tanh": lambda f, x: jnp.tanh(x),
    "heaviside": lambda f, x: jnp.where(x > f.threshold, 1.0, 0.0),
    "thresholded_relu": lambda f, x: jnp.where(x > f.threshold, x, 0),
}


def activate(function, x):
    """Applies `function`, an ActivationFunction or None for the identity, to a batch x."""
    return x if function is None else FORMULAS[function.type_name](function, x)
