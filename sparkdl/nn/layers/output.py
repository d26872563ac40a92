"""The last layer: a fully connected one, and the loss."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer
from sparkdl.nn.config import of
from sparkdl.nn.layers.dense import affine
from sparkdl.nn.layers.weighted import Weighted
from sparkdl.nn.losses import Loss


@dataclass(frozen=True, kw_only=True)
class Output(Weighted):
    """z = x W + b, which the loss compares with the labels. A prediction is loss.output(z).

    Parameters
    ----------
    units : int
        Classes, or numbers per label; at least 1.
    loss : str, dict or Loss
        "softmax_cross_entropy", "sigmoid_cross_entropy", "mse", "mae".

    Shapes
    ------
    x (batch, n_in), z (batch, units), W (n_in, units), b (units,)
    """

    takes_rows: ClassVar = True

    units: int
    loss: Loss = field(default="softmax_cross_entropy", metadata=of(Loss))

    def __post_init__(self):
        super().__post_init__()
        require(self, "units", is_integer(self.units, 1), "an integer >= 1")

    @property
    def label_shape(self):
        """The shape of one example's label: () for a class, (units,) for values."""
        return self.loss.label_shape(self.units)

    def weight_shape(self, in_shape):
        return (*self.rows(in_shape), self.units)

    def fans(self, shape):
        return shape

    def outputs(self):
        return self.units

    def out_shape(self, in_shape):
        self.rows(in_shape)
        return (self.units,)

    def forward(self, params, x, run):
        return affine(params, x)
