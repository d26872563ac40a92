"""The loss of predicted quantiles."""

import numpy as np

from sparkdl.config import Number, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import Loss


@dataclass(frozen=True, kw_only=True)
class Quantile(Loss, name="quantile"):
    """max(q d, (q - 1) d) with d = y - z, for each quantile q of each number of a label; the mean.

    The units are all quantiles of the first number of a label, then those of the second, and so on.
    The pinball loss: scikit-learn's mean_pinball_loss has the same numbers for one quantile.

    References
    ----------
    Koenker and Bassett, Regression quantiles (1978), eq. 3.1.
    """

    quantiles: Several[float] = option(
        Sequence(of=Number(above=0, below=1), minimum=1),
        "Share of the labels that each prediction is to exceed. The units are as many for each "
        "number of a label.",
        default=(0.1, 0.5, 0.9),
    )

    @property
    def predicts(self) -> str:
        return "values" if len(self.quantiles) == 1 else "other"

    def units_for(self, width: int) -> int:
        return width * len(self.quantiles)

    def check(self, units: int) -> None:
        count = len(self.quantiles)
        if units % count:
            raise ShapeError(
                f"quantile needs {count} units for each number of a label, one for each of "
                f"{self.quantiles}, got {units} units"
            )

    def label_shape(self, units: int) -> Shape:
        return (units // len(self.quantiles),)

    def per_example(self, z: Value, labels: Value) -> Value:
        n, units = z.shape
        count = len(self.quantiles)
        each = ops.reshape(z, (n, units // count, count))
        away = ops.sub(ops.reshape(labels, (n, units // count, 1)), each)
        shares = np.asarray(self.quantiles, z.dtype)
        terms = ops.maximum(ops.mul(away, shares), ops.mul(away, shares - 1))
        return ops.mean(ops.reshape(terms, (n, units)), axes=(1,))
