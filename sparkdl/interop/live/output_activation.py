"""Conversion of a live model's output to predictions: an activation function, or the loss's own."""

from math import prod
from typing import Any

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.activations import Identity
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers import Activation

NUMBERS = 64  # least number of values at which functions are compared
LARGEST = 4.0


def layers_before(output: Any, activation: Any, shape: Any, model: Any) -> list[Activation]:
    """Returns the layers between a model and its loss: an Activation, or none.

    Parameters
    ----------
    output : LossLayer
    activation : ActivationFunction or None
        None: that which the loss includes, if any.
    shape : tuple of int
        Shape of one example's output.
    model : LiveModel
        The model with these options.

    Raises
    ------
    ConfigError
        If the loss includes a different function, which would be applied as well.
    """
    if activation is None:
        return []
    z = some_numbers(shape)
    own = np.asarray(output.output(z))
    if np.array_equal(own, z):
        return [] if isinstance(activation, Identity) else [Activation(activation)]
    with np.errstate(all="ignore"):
        chosen = np.asarray(activation.apply(z))
    if own.shape == chosen.shape and np.allclose(own, chosen, atol=1e-6):
        return []
    raise ConfigError(
        f"{type(model).__name__}.output_activation must be None, or the activation that the loss "
        f"{output.loss.type_name} applies to logits itself, got {activation.type_name}; leave it "
        'out, and call `features(x, ["module"])` for the output of the model'
    )


def some_numbers(shape: Shape) -> np.ndarray:
    """Returns test examples (n, *shape) with numbers of both signs."""
    n = -(-NUMBERS // prod(shape))
    return np.linspace(-LARGEST, LARGEST, n * prod(shape), dtype=np.float32).reshape(n, *shape)
