"""The loss of pairs: similar ones should be close, others at least a margin apart."""

from typing import ClassVar

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import SHARES, PerUnit


@dataclass(frozen=True, kw_only=True)
class Contrastive(PerUnit, name="contrastive"):
    """y d^2 / 2 + (1 - y) max(0, margin - d)^2 / 2, with z the distance d of the two of a pair.

    Labels are 1 for pairs that are alike and 0 for others. In a graph, the distance is an L2 vertex
    over the two branches.

    References
    ----------
    Hadsell, Chopra and LeCun, Dimensionality reduction by learning an invariant mapping (2006),
    eq. 4, with y and 1 - y exchanged as in Caffe's ContrastiveLoss.
    """

    label_range: ClassVar = SHARES

    margin: float = option(
        Number(above=0), "Least distance of pairs that are not alike.", default=1.0
    )
    legacy: bool = option(
        Boolean(),
        "max(0, margin - d^2) / 2 for pairs that are not alike, as Caffe's legacy_version has it.",
        default=False,
    )

    def terms(self, z: Value, labels: Value) -> Value:
        near = ops.square(z)
        missing = ops.relu(ops.sub(self.margin, near if self.legacy else z))
        far = missing if self.legacy else ops.square(missing)
        unlike = ops.sub(1.0, labels)
        return ops.mul(ops.add(ops.mul(labels, near), ops.mul(unlike, far)), 0.5)
