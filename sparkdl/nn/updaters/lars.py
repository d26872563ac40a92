"""Momentum with steps measured by the arrays that they change."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_not_negative, is_positive
from sparkdl.nn.updaters.momentum import Momentum
from sparkdl.nn.updaters.trust import trusted


@dataclass(frozen=True, kw_only=True)
class Lars(Momentum):
    """Momentum on u = g + weight_decay w, scaled by trust |w| / (|u| + epsilon) array by array.

    As with l1 and l2, biases and batch normalisation are not decayed. optax computes the same with
    the masks that leave arrays of one axis out; the paper's denominator is |g| + weight_decay |w|.

    Parameters
    ----------
    momentum : float
        As for Momentum.
    trust : float
        Length of a step at rate 1 as a share of the length of the array, above 0.
    weight_decay, epsilon : float
        At least 0.
    vectors : bool
        Whether arrays of one axis (biases, gains) are scaled too.

    References
    ----------
    You, Gitman and Ginsburg, Large batch training of convolutional networks (2017), algorithm 1.
    """

    trust: float = 0.001
    epsilon: float = 0.0
    vectors: bool = False

    def __post_init__(self):
        super().__post_init__()
        require(self, "trust", is_positive(self.trust), "a number above 0")
        require(self, "epsilon", is_not_negative(self.epsilon), "a number >= 0")
        require(self, "vectors", isinstance(self.vectors, bool), "True or False")

    def move(self, params, grad, slots, rate, t, layout, decay=None):
        grad = grad if decay is None else ops.add(grad, ops.mul(decay, params))
        grad = trusted(grad, params, layout, self.trust, self.epsilon, self.vectors)
        return self.update(grad, slots, rate, t)
