"""Names of layers, each once: Caffe goes by their order where we go by their names."""

from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.blob_uses import DATA


def name_of(layer):
    """Returns the name of a layer, or of what it gives where it has none."""
    return layer.name or (layer.top[0] if layer.top else layer.type)


def number_layers(layers):
    """Returns the layers with a name each: "loss", and a second one of that name "loss (2)".

    Layers of data compute nothing, and keep theirs.
    """
    names = iter(number_names(name_of(one) for one in layers if one.type not in DATA))
    return [one if one.type in DATA else rename_layer(one, next(names)) for one in layers]


def number_names(names):
    """Yields the names, those that were there before with a number behind."""
    taken, names = set(), list(names)
    for name in names:
        free, number = name, 1
        while free in taken or (number > 1 and free in names):
            number += 1
            free = f"{name} ({number})"
        taken.add(free)
        yield free


def rename_input_clashes(layers, inputs):
    """Returns the layers; one with an input's name becomes a part of itself: weights go by it."""
    return [
        rename_layer(one, f"{name_of(one)}/layer") if meets(one, inputs) else one for one in layers
    ]


def meets(layer, inputs):
    return layer.type not in DATA and name_of(layer) in inputs


def by_name(layers):
    """Returns {name: layer}.

    Where a layer of data has the name of one that computes, it is the latter.
    """
    data = {name_of(one): one for one in layers if one.type in DATA}
    return data | {name_of(one): one for one in layers if one.type not in DATA}


def rename_layer(layer, name):
    """Returns the layer under a name."""
    if layer.name == name:
        return layer
    new = LayerParameter()
    new.CopyFrom(layer)
    new.name = name
    return new
