"""A layer that learns without labels."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.layers.reconstructing import Reconstructing
from sparkdl.nn.layers.wrapper import Wrapper


@dataclass(frozen=True, kw_only=True)
class Reconstruction(Wrapper):
    """A layer that reconstructs its input, whose loss of doing so is the network's.

    Parameters
    ----------
    layer : AutoEncoder, VariationalAutoencoder or another Reconstructing layer
    """

    def __post_init__(self):
        super().__post_init__()
        holds = isinstance(self.layer, Reconstructing)
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
