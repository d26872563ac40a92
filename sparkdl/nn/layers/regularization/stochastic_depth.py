"""Stochastic depth: in training some examples pass by a branch."""

from sparkdl.config import dataclass
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.regularization.noise import Zeroing


@dataclass(frozen=True, kw_only=True)
class StochasticDepth(Zeroing):
    """In training a whole example becomes 0 with probability `rate`, else x / (1 - rate).

    It ends the branch of a residual block, before the sum: what is dropped passes the block by. The
    choice depends only on the seed, the layer, the example and the epoch. Also called drop path.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Huang, Sun, Liu, Sedra and Weinberger, Deep networks with stochastic depth (2016), with the
    inverted scaling of EfficientNet, so inference needs none. torchvision's StochasticDepth in mode
    "row"; Keras's Dropout with noise_shape=(None, 1, ...).
    """

    def drawn_shape(self, shape: Shape) -> Shape:
        return (1,) * len(shape)
