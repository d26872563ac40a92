"""How the threshold of a threshold-encoded vector follows from the last message."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.exchange.codecs.family import Family

HALF_IN_20 = 0.5 ** (1 / 20)  # a factor of 2 in 20 messages


class ThresholdRule(Family):
    """Gives the threshold of each message.

    The sparsity of a message is the share of the numbers that are at least the threshold: 0 when
    none is sent, 1 when all are.
    """

    def first(self):
        """The threshold of the first message."""
        raise NotImplementedError

    def after(self, threshold, sparsity):
        """The threshold that follows a message sent with `threshold` that had `sparsity`."""
        raise NotImplementedError


@dataclass(frozen=True)
class FixedThreshold(ThresholdRule):
    """Always the same (Strom's; DL4J's FixedThresholdAlgorithm)."""

    threshold: float = 1e-3

    def __post_init__(self):
        require(self, "threshold", self.threshold > 0, "above 0")

    def first(self):
        return self.threshold

    def after(self, threshold, sparsity):
        return self.threshold


@dataclass(frozen=True)
class AdaptiveThreshold(ThresholdRule):
    """Falls while too few numbers are sent and rises while too many are.

    DL4J's AdaptiveThresholdAlgorithm, with its defaults.

    Parameters
    ----------
    initial : float
        The first threshold, above 0.
    min_sparsity, max_sparsity : float
        Between these the threshold stays; 0 < min_sparsity <= max_sparsity.
    decay : float
        The factor of one fall, in [0.5, 1); one rise divides by it.
    """

    initial: float = 1e-4
    min_sparsity: float = 1e-4
    max_sparsity: float = 1e-2
    decay: float = HALF_IN_20

    def __post_init__(self):
        require(self, "initial", self.initial > 0, "above 0")
        require(self, "min_sparsity", self.min_sparsity > 0, "above 0")
        holds = self.max_sparsity >= self.min_sparsity
        require(self, "max_sparsity", holds, f"at least min_sparsity ({self.min_sparsity})")
        require(self, "decay", 0.5 <= self.decay < 1, "in [0.5, 1)")

    def first(self):
        return self.initial

    def after(self, threshold, sparsity):
        if sparsity < self.min_sparsity:
            return threshold * self.decay
        return threshold / self.decay if sparsity > self.max_sparsity else threshold


@dataclass(frozen=True)
class TargetSparsity(ThresholdRule):
    """Falls whenever fewer than the wanted share is sent, rises whenever more is.

    DL4J's TargetSparsityThresholdAlgorithm, with its defaults.

    Parameters
    ----------
    initial : float
        The first threshold, above 0.
    sparsity : float
        The share wanted, above 0.
    decay : float
        The factor of one fall, in [0.5, 1); one rise divides by it.
    """

    initial: float = 1e-4
    sparsity: float = 1e-3
    decay: float = HALF_IN_20

    def __post_init__(self):
        require(self, "initial", self.initial > 0, "above 0")
        require(self, "sparsity", self.sparsity > 0, "above 0")
        require(self, "decay", 0.5 <= self.decay < 1, "in [0.5, 1)")

    def first(self):
        return self.initial

    def after(self, threshold, sparsity):
        if sparsity < self.sparsity:
            return threshold * self.decay
        return threshold / self.decay if sparsity > self.sparsity else threshold
