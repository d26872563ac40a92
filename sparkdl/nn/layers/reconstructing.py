"""What layers have in common that can learn without labels."""

from dataclasses import dataclass

from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class UnsupervisedLayer(Layer, abstract=True):
    """A layer whose output tells its input: it can learn to give it back, see `pretraining`."""

    def reconstruction_loss(self, params, x, run):
        """How far from x (batch, n_in) each example comes back, (batch,)."""
        raise NotImplementedError
