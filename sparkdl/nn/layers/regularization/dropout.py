"""Random zeros in training."""

from sparkdl.config import dataclass
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.regularization.noise import Zeroing


@dataclass(frozen=True, kw_only=True)
class Dropout(Zeroing):
    """In training each number becomes 0 with probability `rate`, else x / (1 - rate).

    What is dropped depends only on the seed, the layer, the example and the epoch, not on the batch
    or the worker of the example.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Srivastava et al., Dropout (2014), section 10: inverted scaling, so inference needs none.
    """

    def drawn_shape(self, shape: Shape) -> Shape:
        return shape
