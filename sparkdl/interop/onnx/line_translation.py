"""Rules of windows over one axis, computed as images of one row."""

from dataclasses import replace

from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn

OF_AXES = {"dilations": [1], "kernel_shape": [1], "output_padding": [0], "strides": [1]}


def of_lines(rule):
    """Returns the rule of an operation on images that takes lines (channels, length), too."""

    def translate(node):
        shape = node.shape()
        if len(shape) != 2:
            return rule(node)
        steps = rule(as_image(node, shape))
        first = Step(layer=nn.Reshape(shape=(shape[0], 1, shape[1])))
        last = Step(layer=nn.Reshape(shape=(channels_behind(steps, shape[0]), -1)))
        return [first, *steps, last]

    return translate


def as_image(node, shape):
    """Returns a node on lines as one on images of one row."""
    more = {
        name: [*one, *node.attributes[name]]
        for name, one in OF_AXES.items()
        if name in node.attributes
    }
    if "pads" in node.attributes:
        before, after = node.attributes["pads"]
        more["pads"] = [0, before, 0, after]
    wide = {
        name: value[:, :, None]
        for name in node.inputs
        if (value := node.constants.get(name)) is not None and value.ndim == 3
    }
    shapes = {node.inputs[0]: (shape[0], 1, shape[1])}
    return replace(
        node,
        attributes=node.attributes | more,
        constants=node.constants | wide,
        shapes=node.shapes | shapes,
    )


def channels_behind(steps, channels):
    """Returns the number of channels that the Steps of windows make."""
    return getattr(steps[0].layer, "filters", channels)
