"""Layers that put numbers elsewhere and compute nothing."""

from sparkdl.interop.caffe.trained import axis_of
from sparkdl.nn import Merge


def concat(layer, net):
    options = layer.concat_param
    axis = options.concat_dim if options.HasField("concat_dim") else options.axis
    axis = axis_of(axis, net.shape(layer.bottom[0]), "axis")
    net.add(layer, Merge(axis=axis))


def split(layer, net):
    for top in layer.top:
        net.alias(top, layer.bottom[0])


def silence(layer, net):
    """Its bottoms need no reader."""


SHAPES = {"Concat": concat, "Split": split, "Silence": silence}
