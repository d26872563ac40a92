"""Rules that adapt the threshold of threshold encoding from message to message."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Member, Number, dataclass, option
from sparkdl.errors import require

HALF_IN_20 = 0.5 ** (1 / 20)  # a factor of 2 in 20 messages
SMALLEST = np.finfo(np.float32).tiny  # a message has its threshold as float32


@dataclass(frozen=True)
class ThresholdRule(Member):
    """Base of the rules that choose the threshold of each message.

    The sparsity of a message is the share of the numbers that are at least the threshold: 0 when
    none is sent, 1 when all are.
    """

    complete: ClassVar = True

    def first(self) -> float:
        """Returns the threshold of the first message."""
        raise NotImplementedError

    def after(self, threshold: float, sparsity: float) -> float:
        """Returns the threshold after a message that was sent with `threshold` and `sparsity`."""
        raise NotImplementedError


@dataclass(frozen=True)
class FixedThreshold(ThresholdRule):
    """Always the same (Strom's; DL4J's FixedThresholdAlgorithm)."""

    threshold: float = option(
        Number(above=0), "Size of the numbers that are sent.", default=1e-3, kw_only=False
    )

    def validate(self) -> None:
        super().validate()
        require_normal(self, "threshold")

    def first(self) -> float:
        return self.threshold

    def after(self, threshold: float, sparsity: float) -> float:
        return self.threshold


@dataclass(frozen=True)
class SparsityRule(ThresholdRule, abstract=True):
    """Base of the rules that keep the sparsity of messages within bounds."""

    initial: float = option(Number(above=0), "The first threshold.", default=1e-4, kw_only=False)
    decay: float = option(
        Number(minimum=0.5, below=1),
        "The factor of one fall; one rise divides by it.",
        default=HALF_IN_20,
    )

    def validate(self) -> None:
        super().validate()
        require_normal(self, "initial")

    def bounds(self) -> tuple[float, float]:
        """Returns the lowest and the highest sparsity that leave the threshold as it is."""
        raise NotImplementedError

    def first(self) -> float:
        return self.initial

    def after(self, threshold: float, sparsity: float) -> float:
        low, high = self.bounds()
        if sparsity < low:
            return threshold * self.decay
        return threshold / self.decay if sparsity > high else threshold


@dataclass(frozen=True)
class AdaptiveThreshold(SparsityRule):
    """Falls while too few numbers are sent and rises while too many are.

    DL4J's AdaptiveThresholdAlgorithm, with its defaults.
    """

    min_sparsity: float = option(
        Number(above=0), "The threshold falls where less is sent.", default=1e-4
    )
    max_sparsity: float = option(
        Number(above=0),
        "The threshold rises where more is sent; at least min_sparsity.",
        default=1e-2,
    )

    def validate(self) -> None:
        super().validate()
        holds = self.max_sparsity >= self.min_sparsity
        require(self, "max_sparsity", holds, f"at least min_sparsity ({self.min_sparsity})")

    def bounds(self) -> tuple[float, float]:
        return self.min_sparsity, self.max_sparsity


@dataclass(frozen=True)
class TargetSparsity(SparsityRule):
    """Falls whenever fewer than the wanted share is sent, rises whenever more is.

    DL4J's TargetSparsityThresholdAlgorithm, with its defaults.
    """

    sparsity: float = option(Number(above=0), "The share wanted.", default=1e-3)

    def bounds(self) -> tuple[float, float]:
        return self.sparsity, self.sparsity


def require_normal(rule: ThresholdRule, field: str) -> None:
    """Raises ConfigError for a threshold that float32 holds with fewer digits, or as 0."""
    must_be = f"at least {SMALLEST:.3g}, float32's smallest number of full precision"
    require(rule, field, getattr(rule, field) >= SMALLEST, must_be)
