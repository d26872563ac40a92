"""Check of a written model by reading it again, as the reader knows all options of layers."""

from dataclasses import fields

from sparkdl.interop.keras.graph import GraphTranslation
from sparkdl.nn.activations import Identity
from sparkdl.nn.layers import Frozen, Wrapper

SIZES = ("amount", "dilation", "kernel_size", "output_padding", "padding", "size", "stride")
FOR_TRAINING = {
    *("initializer", "l1", "l2", "constraints", "weight_noise", "decay_factor", "rate_factor"),
    *("bias_initializer", "bias_l1", "bias_l2", "bias_constraints", "bias_rate_factor"),
    *("optimizer", "bias_optimizer", "recurrent_initializer", "rate", "std", "dropout"),
}


def read_again(document, expected, training):
    """Reads a model's document; returns ([Taken], [unsupported options]).

    Parameters
    ----------
    document : dict
    expected : {name: Layer}
        Layers that must result from reading.
    training : bool
        Whether training options must be equal, too.
    """
    graph = GraphTranslation(3, {}, loses_masks=False)
    graph.model(document)
    found = {vertex.name: vertex.layer for vertex in graph.build.vertices}
    refused = list(graph.refused)
    for name, layer in expected.items():
        if name in found:
            kind = type(layer).__name__
            refused += [
                f"{name} ({kind}): {one}" for one in differences(layer, found[name], training)
            ]
    return graph.taken, refused


def differences(ours, found, training):
    """Returns the options of a layer that are read differently."""
    if isinstance(ours, Frozen) and type(found) is type(ours.layer):
        return [f"a {type(found).__name__} of Keras cannot be frozen"]
    if type(ours) is not type(found):
        return [f"Keras has {type(found).__name__} instead"]
    if isinstance(ours, Wrapper):
        inner = differences(ours.layer, found.layer, training)
    else:
        inner = []
    names = [item.name for item in fields(ours) if item.name not in ("name", "layer")]
    if not training:
        names = [name for name in names if name not in FOR_TRAINING]
    if getattr(ours, "bias", True) is False:
        names = [name for name in names if not name.startswith("bias_")]
    return inner + [
        f"{name}={getattr(ours, name)!r} is not supported"
        for name in names
        if plain(name, getattr(ours, name)) != plain(name, getattr(found, name))
    ]


def plain(name, value):
    """Returns an option without what distinguishes equal objects."""
    value = getattr(value, "same_as", value)
    if isinstance(value, Identity):
        return None
    if name in ("l1", "l2"):
        return value or 0.0
    if name == "constraints":
        return value or ()
    return uniform(value) if name in SIZES else value


def uniform(value):
    """Returns a single number for equal numbers in a tuple."""
    if not isinstance(value, tuple):
        return value
    value = tuple(map(uniform, value))
    return value[0] if len(set(value)) == 1 else value
