"""What a loss is: which labels it takes, what a prediction gives, and a number per example."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.nn.config import Member


@dataclass(frozen=True, kw_only=True)
class Loss(Member):
    """Base of all losses. `z` is what the last layer computes, (batch, units).

    `label_kind` says what labels are: "class", an int32 in [0, units) per example, or "values",
    `units` float32 per example. `output(z)` is what a prediction gives. `per_example(z, labels)`
    is the loss of each example, (batch,); the loss of a batch is its mean.
    """

    label_kind: ClassVar[str] = "values"

    def label_shape(self, units):
        """The shape of one example's label."""
        return () if self.label_kind == "class" else (units,)

    def output(self, z):
        return z

    def per_example(self, z, labels):
        raise NotImplementedError
