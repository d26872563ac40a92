"""Layers that models of keras.applications define for themselves."""

from sparkdl.interop.keras.layers.joining import alike
from sparkdl.interop.keras.places import Take
from sparkdl.nn import layers as nn
from sparkdl.nn.initializers import Constant


def layer_scale(at):
    """Returns the rule of ConvNeXt's factor of each channel."""
    start, width = at.options.number("init_values"), at.options.size("projection_dim")
    x = at.one()
    at.options.need(width == x.shape[-1], "projection_dim", width)
    layer = nn.Affine(shift=False, scale_initializer=Constant(value=start))
    return at.add(layer, at.first(x), takes=[Take(ours="gamma")])


def stochastic_depth(at):
    return at.add(nn.StochasticDepth(rate=at.options.number("drop_path_rate")), at.one())


def scaled_sum(at):
    """Adds the second input, scaled, to the first, as in Inception-ResNet."""
    first, second = alike(at)
    scaled = at.add(nn.Rescaling(scale=at.options.number("scale")), second, helper=True)
    return at.add(nn.ElementWise(operation="add"), first, scaled)


APPLICATIONS = {
    "LayerScale": layer_scale,
    "StochasticDepth": stochastic_depth,
    "CustomScaleLayer": scaled_sum,
}
