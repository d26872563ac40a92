"""Base of the layers that can be pretrained without labels."""

from dataclasses import dataclass

from sparkdl.nn.layers.core.base import Layer


@dataclass(frozen=True, kw_only=True)
class UnsupervisedLayer(Layer, abstract=True):
    """A layer that can learn to reconstruct its input from its output; see `pretraining`."""

    def reconstruction_loss(self, params, x, run):
        """Returns the reconstruction error (batch,) of x (batch, n_in)."""
        raise NotImplementedError
