"""The loss of a predicted mixture of normal distributions."""

from math import log, pi
from typing import ClassVar

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import Loss


@dataclass(frozen=True, kw_only=True)
class MixtureDensity(Loss, name="mixture_density"):
    """-log of the density that a mixture of normal distributions has at the label, in nats.

    Of the units, the first `components` are the logarithms of the shares of the components (up to
    a constant), the next as many those of their standard deviations (one for all numbers of a
    label), and the others their means, one component behind the other.

    References
    ----------
    Bishop, Mixture density networks (1994), eq. 22 to 29. DL4J's LossMixtureDensity.
    """

    predicts: ClassVar = "other"

    components: int = option(Size(minimum=1), "Normal distributions in the mixture.")
    width: int = option(
        Size(minimum=1), "Numbers in a label; the units are components (2 + width)."
    )

    def units_for(self, width: int) -> int:
        return self.components * (2 + width)

    def check(self, units: int) -> None:
        expected = self.components * (2 + self.width)
        if units != expected:
            kind = f"{self.components} components of width {self.width}"
            raise ShapeError(f"a mixture of {kind} needs {expected} units, got {units}")

    def label_shape(self, units: int) -> Shape:
        return (self.width,)

    def per_example(self, z: Value, labels: Value) -> Value:
        n, k = z.shape[0], self.components
        shares = ops.log_softmax(ops.slice(z, (0, 0), (n, k)))
        deviation = ops.slice(z, (0, k), (n, 2 * k))
        means = ops.reshape(ops.slice(z, (0, 2 * k), (n, z.shape[1])), (n, k, self.width))
        away = ops.sub(ops.reshape(labels, (n, 1, self.width)), means)
        square = ops.sum(ops.square(away), axes=(2,))
        scaled = ops.mul(square, ops.exp(ops.mul(deviation, -2.0)))
        constant = self.width * log(2 * pi) / 2
        density = ops.sub(ops.mul(scaled, -0.5), ops.mul(deviation, float(self.width)))
        return ops.sub(constant, log_sum_exp(ops.add(shares, density)))


def log_sum_exp(x: Value) -> Value:
    """Returns the log of the sum of e^x along the rows of x, without overflow."""
    top = ops.stop_gradient(ops.max(x, axes=(1,), keepdims=True))
    total = ops.log(ops.sum(ops.exp(ops.sub(x, top)), axes=(1,)))
    return ops.add(total, ops.reshape(top, (x.shape[0],)))
