"""The loss of examples with several labels: those that hold should rank above the others."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import SHARES, Loss


@dataclass(frozen=True, kw_only=True)
class MultiLabelRanking(Loss, name="multi_label"):
    """Mean of e^(z_l - z_k) over all pairs of a label k that holds and a label l that does not.

    Labels are 1 where they hold, else 0. An example of which all or none hold has no pair, and
    loss 0. In float32 differences must stay below 88; tanh before it keeps them there.

    References
    ----------
    Zhang and Zhou, Multilabel neural networks with applications to functional genomics and text
    categorization (2006), eq. 3. DL4J's LossMultiLabel.
    """

    label_range: ClassVar = SHARES

    def per_example(self, z: Value, labels: Value) -> Value:
        others = ops.sub(1.0, labels)
        pairs = ops.mul(ops.sum(labels, axes=(1,)), ops.sum(others, axes=(1,)))
        above = ops.sub(z, ops.stop_gradient(highest_other(z, others)))
        held = ops.exp(ops.where(labels, ops.neg(above), 0.0))
        not_held = ops.exp(ops.where(others, above, 0.0))
        held = ops.sum(ops.mul(labels, held), axes=(1,))
        not_held = ops.sum(ops.mul(others, not_held), axes=(1,))
        return ops.div(ops.mul(held, not_held), ops.maximum(pairs, 1.0))


def highest_other(z: Value, others: Value) -> Value:
    """Returns the largest z (batch, 1) of labels that do not hold, or the smallest z if all hold.

    Relative to it, no exponential exceeds the largest e^(z_l - z_k).
    """
    least = ops.neg(ops.max(ops.neg(z), 1, keepdims=True))
    return ops.max(ops.where(others, z, ops.broadcast_to(least, z.shape)), 1, keepdims=True)
