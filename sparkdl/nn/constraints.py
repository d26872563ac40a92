"""Where weights must stay: what is done with them after each update."""

from dataclasses import dataclass

from sparkdl.config import Member, Number, option
from sparkdl.engine import ops
from sparkdl.errors import require


@dataclass(frozen=True, kw_only=True)
class Constraint(Member):
    """Base of all constraints.

    Norms are those of the weights that lead into one unit: a column of a matrix (inputs, units),
    one filter of filters (O, I, rows, columns); a vector has one norm. They are Keras's and DL4J's
    constraints, but for the epsilon that those add to a norm before they divide by it.
    """

    def apply(self, weights):
        """`weights`, an array or Tensor of one axis or more, moved to where they may be."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MaxNorm(Constraint, name="max_norm"):
    """Weights into a unit are scaled down to an L2 norm of `limit`, if above it.

    References
    ----------
    Srivastava et al., Dropout (2014), section 5.1.
    """

    limit: float = option(Number(above=0), "The largest norm.")

    def apply(self, weights):
        return ops.mul(weights, ops.div(self.limit, ops.maximum(norms(weights), self.limit)))


@dataclass(frozen=True, kw_only=True)
class MinMaxNorm(Constraint, name="min_max_norm"):
    """Weights into a unit are scaled to an L2 norm of `low` to `high`, or on the way there.

    Weights that are all 0 stay so.
    """

    low: float = option(Number(minimum=0), "The least norm that is wanted.")
    high: float = option(Number(above=0), "The largest norm that is wanted, not below `low`.")
    share: float = option(
        Number(above=0, maximum=1),
        "Of the way to the norm that is wanted that one update goes.",
        default=1.0,
    )

    def validate(self):
        super().validate()
        holds = self.high >= self.low
        require(self, "high", holds, f"a number above 0 and not below low ({self.low})")

    def apply(self, weights):
        norm = norms(weights)
        wanted = ops.minimum(ops.maximum(norm, self.low), self.high)
        norm_then = ops.add(ops.mul(wanted, self.share), ops.mul(norm, 1 - self.share))
        return ops.mul(weights, ops.div(norm_then, not_zero(norm)))


@dataclass(frozen=True, kw_only=True)
class UnitNorm(Constraint, name="unit_norm"):
    """Weights into a unit are scaled to an L2 norm of 1; those that are all 0 stay so."""

    def apply(self, weights):
        return ops.div(weights, not_zero(norms(weights)))


@dataclass(frozen=True, kw_only=True)
class NonNegative(Constraint, name="non_negative"):
    """A weight below 0 becomes 0."""

    def apply(self, weights):
        return ops.relu(weights)


def norms(weights):
    """The L2 norm of the weights into each unit, shaped so that it broadcasts over them."""
    rank = len(weights.shape)
    axes = tuple(range(1, rank)) if rank > 2 else (0,)
    return ops.sqrt(ops.sum(ops.square(weights), axes=axes, keepdims=True))


def not_zero(norm):
    """`norm`, with 1 in place of 0."""
    return ops.where(norm, norm, 1.0)
