"""Local response normalization of images, and its gradient.

References
----------
Krizhevsky, Sutskever and Hinton, ImageNet classification with deep convolutional neural networks
(2012), section 3.3. As in Caffe, alpha is divided by the count of numbers in the sum.
"""

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.elementwise import add, mul, power, square, sub
from sparkdl.engine.ops.shape import reshape
from sparkdl.engine.ops.spatial.pool import avg_pool
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class LocalOp(Op):
    """A mean m(x) over `size` neighboring channels, or size x size positions if `within` a channel.

    Numbers outside count as 0.
    """

    floating = True
    size: int = 5
    alpha: float = 1.0
    beta: float = 0.75
    k: float = 1.0
    within: bool = False

    def options(self):
        return self.size, self.alpha, self.beta, self.k, self.within

    def images(self, x):
        if len(x.shape) != 4:
            raise ShapeError(f"lrn takes images (N, C, H, W), got {tuple(x.shape)}")
        if self.size < 1 or self.size % 2 == 0:
            raise ShapeError(f"lrn needs an odd size of at least 1, got {self.size}")
        return x

    def around(self, x):
        """Returns m(x), which is its own transpose."""
        half = self.size // 2
        if self.within:
            return avg_pool(x, self.size, 1, half, count_padding=True)
        n, c, h, w = x.shape
        columns = reshape(x, (n, 1, c, h * w))
        means = avg_pool(columns, (self.size, 1), 1, (half, 0), count_padding=True)
        return reshape(means, x.shape)

    def base(self, x):
        """Returns k + alpha m(x^2)."""
        return add(mul(self.around(square(x)), self.alpha), self.k)


@register
@dataclass(frozen=True)
class LrnOp(LocalOp):
    """x (k + alpha m(x^2))^-beta"""

    def shape(self, x):
        return self.images(x)

    def decompose(self, x):
        return mul(x, power(self.base(x), -self.beta))

    def gradient(self, gy, x, y):
        return (LrnGradOp(*self.options())(gy, x),)


@register
@dataclass(frozen=True)
class LrnGradOp(LocalOp):
    """gx from gy and x."""

    def shape(self, gy, x):
        return self.same(gy, self.images(x))

    def decompose(self, gy, x):
        base = self.base(x)
        direct = mul(gy, power(base, -self.beta))
        through = self.around(mul(mul(gy, x), power(base, -self.beta - 1)))
        return sub(direct, mul(mul(x, through), 2 * self.alpha * self.beta))


def lrn(x, size=5, alpha=1.0, beta=0.75, k=1.0, within=False):
    """x (k + alpha m(x^2))^-beta, m a mean over neighboring channels, or positions if `within`."""
    return LrnOp(int(size), float(alpha), float(beta), float(k), bool(within))(x)
