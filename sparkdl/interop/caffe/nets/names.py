"""Unique names of layers: Caffe uses their order where sparkdl uses names."""

from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.blob_uses import DATA


def name_of(layer):
    """Returns the name of a layer, or else of its first top or its type."""
    return layer.name or (layer.top[0] if layer.top else layer.type)


def number_layers(layers):
    """Returns the layers with unique names; a second layer "loss" becomes "loss (2)".

    Data layers compute nothing, and keep their names.
    """
    names = iter(number_names(name_of(one) for one in layers if one.type not in DATA))
    return [one if one.type in DATA else rename_layer(one, next(names)) for one in layers]


def number_names(names):
    """Yields unique names, with a number appended to repeated ones."""
    taken, names = set(), list(names)
    for name in names:
        free, number = name, 1
        while free in taken or (number > 1 and free in names):
            number += 1
            free = f"{name} ({number})"
        taken.add(free)
        yield free


def rename_input_clashes(layers, inputs):
    """Renames layers that have an input's name to NAME/layer; weights are found by that prefix."""
    return [
        rename_layer(one, f"{name_of(one)}/layer") if meets(one, inputs) else one for one in layers
    ]


def meets(layer, inputs):
    return layer.type not in DATA and name_of(layer) in inputs


def by_name(layers):
    """Returns {name: layer}; a computing layer takes precedence over a data layer."""
    data = {name_of(one): one for one in layers if one.type in DATA}
    return data | {name_of(one): one for one in layers if one.type not in DATA}


def rename_layer(layer, name):
    """Returns the layer with a new name."""
    if layer.name == name:
        return layer
    new = LayerParameter()
    new.CopyFrom(layer)
    new.name = name
    return new
