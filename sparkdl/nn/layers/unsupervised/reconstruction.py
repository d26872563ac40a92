"""A layer that learns without labels."""

from dataclasses import dataclass

from sparkdl.config import Of, option
from sparkdl.errors import require
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.layers.wrappers.base import Wrapper


@dataclass(frozen=True, kw_only=True)
class Reconstruction(Wrapper):
    """A layer that reconstructs its input, whose loss of doing so is the network's."""

    layer: Layer = option(
        Of(family=Layer), "An AutoEncoder, a VariationalAutoencoder or another that reconstructs."
    )

    def validate(self):
        super().validate()
        holds = isinstance(self.layer, UnsupervisedLayer)
        require(self, "layer", holds, "a layer that reconstructs its input")

    @property
    def takes_rows(self):
        return self.layer.takes_rows

    def out_shape(self, in_shape):
        return self.layer.out_shape(in_shape)

    def param_shapes(self, in_shape):
        return self.layer.param_shapes(in_shape)

    def forward(self, params, x, run):
        run.add_loss(self.layer.reconstruction_loss(params, x, run))
        return self.layer.forward(params, x, run)
