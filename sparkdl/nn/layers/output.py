"""The last layer: a fully connected one, and the loss."""

from dataclasses import dataclass, field

from sparkdl.nn.config import of
from sparkdl.nn.layers.fully_connected import FullyConnected
from sparkdl.nn.losses import Loss


@dataclass(frozen=True, kw_only=True)
class Output(FullyConnected):
    """z = x W + b, which the loss compares with the labels. A prediction is loss.output(z).

    Parameters
    ----------
    units : int
        Classes, or numbers per label; at least 1.
    loss : str, dict or Loss
        "softmax_cross_entropy" for classes; for values "sigmoid_cross_entropy", "mse", "mae", or
        another of nn/losses.

    Shapes
    ------
    x (batch, n_in), z (batch, units), W (n_in, units), b (units,)
    """

    loss: Loss = field(default="softmax_cross_entropy", metadata=of(Loss))

    @property
    def label_shape(self):
        """The shape of one example's label: () for a class, (units,) for values."""
        return self.loss.label_shape(self.units)

    def forward(self, params, x, run):
        return self.affine(params, x)
