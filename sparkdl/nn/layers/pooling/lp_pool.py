"""The p-norm of each window."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.layers.pooling.base import Pool


@dataclass(frozen=True, kw_only=True)
class LpPool(Pool, abstract=True):
    """y = (sum of |x|^p)^(1/p) over each window. A window of zeros has a gradient of 0.

    References
    ----------
    Gulcehre et al., Learned-norm pooling (2014). DL4J's Subsampling with PoolingType PNORM adds
    1e-8 to the sum.
    """

    low_precision: ClassVar = False  # powers need more than three digits

    p: float = option(Number(minimum=1), "Exponent of the norm.", default=2.0)

    def pool_windows(self, x: Value, space: Shape) -> Value:
        dilation = self.wide(self.sizes("dilation"))
        return ops.lp_pool(x, *self.options(space), float(self.p), dilation)


@dataclass(frozen=True, kw_only=True)
class LpPool1D(LpPool):
    """y = the p-norm of each window of a sequence, per feature.

    Shapes
    ------
    x (batch, T, F), y (batch, T', F), a number for each of T' windows
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class LpPool2D(LpPool):
    """y = the p-norm of each window of an image.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W'), a number for each of H' W' windows
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class LpPool3D(LpPool):
    """y = the p-norm of each window of a volume.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, D', H', W'), a number for each of
    D' H' W' windows
    """

    axes: ClassVar = 3
