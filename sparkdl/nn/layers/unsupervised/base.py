"""Base of the layers that can be pretrained without labels."""

from sparkdl.config import dataclass
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class UnsupervisedLayer(Layer, abstract=True):
    """A layer that can learn to reconstruct its input from its output; see `Network.pretrain`."""

    def reconstruction_loss(self, params: Values, x: Value, run: Run) -> Value:
        """Returns the reconstruction error (batch,) of x (batch, n_in)."""
        raise NotImplementedError
