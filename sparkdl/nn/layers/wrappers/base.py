"""Layers around another layer."""

from dataclasses import dataclass, fields, replace

from sparkdl.config import Of, option
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.weights import WeightedLayer

TRAINED = {item.name for item in fields(WeightedLayer)} - {"name"}


@dataclass(frozen=True, kw_only=True)
class Wrapper(Layer, abstract=True):
    """A layer that does something with another one, whose choices about training hold."""

    layer: Layer = option(Of(family=Layer), "The layer inside.")

    def __getattr__(self, name):
        """Returns options of training, such as l2 or rate_factor, of the layer inside."""
        if name in TRAINED:
            return getattr(self.layer, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def inherit(self, network):
        return replace(self, layer=self.layer.inherit(network))

    @property
    def penalized(self):
        return self.layer.penalized

    @property
    def pulled(self):
        return self.layer.pulled

    @property
    def biases(self):
        return getattr(self.layer, "biases", ())

    def incoming(self, name, shape):
        return self.layer.incoming(name, shape)

    def initial(self, name, shape, rng):
        return self.layer.initial(name, shape, rng)
