"""Constraints on weights, enforced after each update."""

from typing import ClassVar

from sparkdl.config import Member, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Value


@dataclass(frozen=True, kw_only=True)
class Constraint(Member):
    """Base of all constraints.

    Norms are those of the weights that lead into one unit: a column of a matrix (inputs, units),
    one filter of filters (O, I, rows, columns), for a transposed convolution what leads into one
    output channel, for a locally connected layer one filter at one place. A vector has one norm,
    and so have biases. They are Keras's and DL4J's constraints, but for the epsilon that those add
    to a norm before they divide by it.
    """

    elementwise: ClassVar[bool] = False  # whether each new weight depends on the old one alone

    def apply(self, weights: Value, axes: tuple[int, ...] | None = None) -> Value:
        """Returns `weights` moved to where they may be.

        Parameters
        ----------
        weights : array or Tensor of one axis or more
        axes : tuple of int, optional
            Along which the weights into one unit lie; as in a matrix or in filters unless given.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MaxNorm(Constraint, name="max_norm"):
    """Weights into a unit are scaled down to an L2 norm of `limit`, if above it.

    References
    ----------
    Srivastava et al., Dropout (2014), section 5.1.
    """

    limit: float = option(Number(above=0), "The largest norm.")

    def apply(self, weights: Value, axes: tuple[int, ...] | None = None) -> Value:
        return ops.mul(weights, ops.div(self.limit, ops.maximum(norms(weights, axes), self.limit)))


@dataclass(frozen=True, kw_only=True)
class MinMaxNorm(Constraint, name="min_max_norm"):
    """Weights into a unit are scaled to an L2 norm of `low` to `high`, or on the way there.

    Weights that are all 0 stay so.
    """

    low: float = option(Number(minimum=0), "Smallest norm.")
    high: float = option(Number(above=0), "Largest norm, not below `low`.")
    share: float = option(
        Number(above=0, maximum=1),
        "Share of the way to that norm that one update goes.",
        default=1.0,
    )

    def validate(self) -> None:
        super().validate()
        holds = self.high >= self.low
        require(self, "high", holds, f"a number above 0 and not below low ({self.low})")

    def apply(self, weights: Value, axes: tuple[int, ...] | None = None) -> Value:
        norm = norms(weights, axes)
        target = ops.minimum(ops.maximum(norm, self.low), self.high)
        norm_then = ops.add(ops.mul(target, self.share), ops.mul(norm, 1 - self.share))
        return ops.mul(weights, ops.div(norm_then, not_zero(norm)))


@dataclass(frozen=True, kw_only=True)
class UnitNorm(Constraint, name="unit_norm"):
    """Weights into a unit are scaled to an L2 norm of 1; those that are all 0 stay so."""

    def apply(self, weights: Value, axes: tuple[int, ...] | None = None) -> Value:
        return ops.div(weights, not_zero(norms(weights, axes)))


@dataclass(frozen=True, kw_only=True)
class NonNegative(Constraint, name="non_negative"):
    """A weight below 0 becomes 0."""

    elementwise: ClassVar[bool] = True

    def apply(self, weights: Value, axes: tuple[int, ...] | None = None) -> Value:
        return ops.relu(weights)


def norms(weights: Value, axes: tuple[int, ...] | None) -> Value:
    """Returns the L2 norm of the weights into each unit, in a shape that broadcasts over them."""
    axes = incoming_axes(weights.shape) if axes is None else axes
    return ops.sqrt(ops.sum(ops.square(weights), axes=axes, keepdims=True))


def incoming_axes(shape: Shape) -> tuple[int, ...]:
    """Returns the axes of the weights into one unit."""
    return tuple(range(1, len(shape))) if len(shape) > 2 else (0,)


def not_zero(norm: Value) -> Value:
    """Returns `norm` with zeros replaced by 1."""
    return ops.where(norm, norm, 1.0)
