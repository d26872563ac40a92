"""Networks as JAX computes them in float64, written from what the layers document.

Of the package only options, names, wiring and shapes are read, none of its operations: so a number
on which both agree has been worked out twice.
"""

from tests.oracle.jax_translation.network import gradients, layer_outputs, loss_and_outputs
from tests.oracle.jax_translation.penalties import penalty
from tests.oracle.jax_translation.support import supported_layers, unsupported
from tests.oracle.jax_translation.training import first_slots, train, updated

__all__ = [
    "first_slots",
    "gradients",
    "layer_outputs",
    "loss_and_outputs",
    "penalty",
    "supported_layers",
    "train",
    "unsupported",
    "updated",
]
