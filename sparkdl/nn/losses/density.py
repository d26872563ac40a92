"""Losses of real-valued labels with a predicted distribution each, in nats."""

from math import log, pi
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import COUNTS, Loss, PerUnit


@dataclass(frozen=True, kw_only=True)
class Gaussian(Loss, name="gaussian"):
    """-log of the density that normal distributions have at the numbers of a label, summed.

    The first half of the units are their means, the others the logarithms of their variances, as in
    DL4J's GaussianReconstructionDistribution. jax.scipy.stats.norm.logpdf has the same terms.
    """

    predicts: ClassVar = "other"

    def units_for(self, width: int) -> int:
        return 2 * width

    def check(self, units: int) -> None:
        if units % 2:
            raise ShapeError(
                f"gaussian needs a mean and a variance for each number, got {units} units"
            )

    def label_shape(self, units: int) -> Shape:
        return (units // 2,)

    def per_example(self, z: Value, labels: Value) -> Value:
        n, units = z.shape
        mean, variance = (
            ops.slice(z, (0, 0), (n, units // 2)),
            ops.slice(z, (0, units // 2), z.shape),
        )
        far = ops.mul(ops.square(ops.sub(labels, mean)), ops.exp(ops.neg(variance)))
        terms = ops.mul(ops.add(ops.add(far, variance), log(2 * pi)), 0.5)
        return ops.sum(terms, axes=(1,))


@dataclass(frozen=True, kw_only=True)
class ExponentialDensity(PerUnit, name="exponential"):
    """-log of the density that exponential distributions with rates e^z have at y >= 0, summed.

    It is e^z y - z; DL4J's ExponentialReconstructionDistribution. A prediction is the mean, e^-z.
    """

    label_range: ClassVar = COUNTS

    def output(self, z: Value) -> Value:
        return ops.exp(ops.neg(z))

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.sub(ops.mul(ops.exp(z), labels), z)
