"""Networks that cannot be translated, and why."""

from tests.oracle.jax_translation import (  # noqa: F401
    arranging,
    attention,
    connected,
    convolutions,
    joining,
    losses,
    noise,
    normalization,
    pooling,
    recurrent,
    resizing,
    wrappers,
)
from tests.oracle.jax_translation.activations import FORMULAS
from tests.oracle.jax_translation.noise import is_random
from tests.oracle.jax_translation.seen import LAYERS

ACTIVATED = ("activation", "function", "latent_activation", "gate_activation")


def supported_layers():
    """Returns the type names of all layers that have a translation."""
    return frozenset(LAYERS)


def unsupported(conf, training=True):
    """Returns the reasons why `conf` cannot be translated: a set of texts, empty if it can.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    training : bool
        Layers that are random in training can be translated in inference.
    """
    reasons = set()
    if conf.tbptt is not None and training:
        reasons.add("tbptt: chunks of sequences with an update after each")
    for place in conf.stack:
        reasons |= set(reasons_of(place.layer))
        if training and is_random(place.layer):
            reasons.add(f"{place.layer.type_name}: random while training")
    return reasons


def reasons_of(layer):
    """Returns the reasons why one layer cannot be translated."""
    if layer.type_name not in LAYERS:
        yield f"layer {layer.type_name}"
    for option in ACTIVATED:
        function = getattr(layer, option, None)
        if function is not None and function.type_name not in FORMULAS:
            yield f"activation {function.type_name}"
    loss = getattr(layer, "loss", None)
    if loss is not None and loss.type_name not in losses.ROWS | losses.WHOLE:
        yield f"loss {loss.type_name}"
    inner = getattr(layer, "layer", None)
    if inner is not None:
        yield from reasons_of(inner)
