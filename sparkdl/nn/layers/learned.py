"""Numbers that are learned and depend on no input."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_integers
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers.affine import Factors


@dataclass(frozen=True, kw_only=True)
class Learned(Factors):
    """The same W for each example; of the input only the batch's size matters. Caffe's Parameter.

    Parameters
    ----------
    shape : tuple of int
        Of W.
    initializer : str, dict or Initializer
        First values of W.

    Shapes
    ------
    x (batch, ...), y (batch, *shape), W shape
    """

    pulled: ClassVar = ("W",)

    shape: tuple[int, ...]
    initializer: Initializer = field(default="zeros", metadata=of(Initializer))

    def __post_init__(self):
        super().__post_init__()
        require(self, "shape", is_integers(self.shape, 1) and self.shape, "integers >= 1")

    def out_shape(self, in_shape):
        return self.shape

    def param_shapes(self, in_shape):
        return {"W": self.shape}

    def initial(self, name, shape, rng):
        return self.initializer.draw(shape, (1, 1), rng)

    def forward(self, params, x, run):
        return ops.broadcast_to(
            ops.reshape(params["W"], (1, *self.shape)), (x.shape[0], *self.shape)
        )
