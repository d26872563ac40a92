"""Networks in JAX, in float64, written from the layers' documentation.

Only options, names, wiring and shapes come from the package, no operations, so a number on which
both agree was computed independently twice.
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
