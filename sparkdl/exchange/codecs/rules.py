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
class AdaptiveThreshold(ThresholdRule):
    """Falls while too few numbers are sent and rises while too many are.

    DL4J's AdaptiveThresholdAlgorithm, with its defaults.
    """

    initial: float = option(Number(above=0), "The first threshold.", default=1e-4, kw_only=False)
    min_sparsity: float = option(
        Number(above=0), "The threshold falls where less is sent.", default=1e-4
    )
    max_sparsity: float = option(
        Number(above=0),
        "The threshold rises where more is sent; at least min_sparsity.",
        default=1e-2,
    )
    decay: float = option(
        Number(minimum=0.5, below=1),
        "The factor of one fall; one rise divides by it.",
        default=HALF_IN_20,
    )

    def validate(self) -> None:
        super().validate()
        require_normal(self, "initial")
        holds = self.max_sparsity >= self.min_sparsity
        require(self, "max_sparsity", holds, f"at least min_sparsity ({self.min_sparsity})")

    def first(self) -> float:
        return self.initial

    def after(self, threshold: float, sparsity: float) -> float:
        if sparsity < self.min_sparsity:
            return threshold * self.decay
        return threshold / self.decay if sparsity > self.max_sparsity else threshold


@dataclass(frozen=True)
class TargetSparsity(ThresholdRule):
    """Falls whenever fewer than the wanted share is sent, rises whenever more is.

    DL4J's TargetSparsityThresholdAlgorithm, with its defaults.
    """

    initial: float = option(Number(above=0), "The first threshold.", default=1e-4, kw_only=False)
    sparsity: float = option(Number(above=0), "The share wanted.", default=1e-3)
    decay: float = option(
        Number(minimum=0.5, below=1),
        "The factor of one fall; one rise divides by it.",
        default=HALF_IN_20,
    )

    def validate(self) -> None:
        super().validate()
        require_normal(self, "initial")

    def first(self) -> float:
        return self.initial

    def after(self, threshold: float, sparsity: float) -> float:
        if sparsity < self.sparsity:
            return threshold * self.decay
        return threshold / self.decay if sparsity > self.sparsity else threshold


def require_normal(rule: ThresholdRule, field: str) -> None:
    """Raises ConfigError for a threshold that float32 holds with fewer digits, or as 0."""
    must_be = f"at least {SMALLEST:.3g}, float32's smallest number of full precision"
    require(rule, field, getattr(rule, field) >= SMALLEST, must_be)
