"""Momentum with layer-wise step sizes, for large batches."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimizers.momentum import Momentum
from sparkdl.nn.optimizers.trust import TrustScaled, scale_by_trust_ratio


@dataclass(frozen=True, kw_only=True)
class Lars(TrustScaled, Momentum):
    """Momentum on u = g + weight_decay w, scaled by trust |w| / (|u| + epsilon) array by array.

    As with l1 and l2, biases and batch normalization are not decayed. optax computes the same with
    the masks that leave arrays of one axis out; the paper's denominator is |g| + weight_decay |w|.

    References
    ----------
    You, Gitman and Ginsburg, Large batch training of convolutional networks (2017), algorithm 1.
    """

    trust: float = option(
        Number(above=0),
        "Length of a step at rate 1 as a share of the length of the array.",
        default=0.001,
    )
    epsilon: float = option(
        Number(minimum=0), "Number added to the divisor of the trust.", default=0.0
    )

    def move(
        self,
        params: Value,
        grad: Value,
        slots: Values,
        rate: Value,
        t: Value,
        layout: Layout,
        decay: Value = None,
    ) -> tuple[Value, Values]:
        grad = grad if decay is None else ops.add(grad, ops.mul(decay, params))
        grad = scale_by_trust_ratio(grad, params, layout, self.trust, self.epsilon, self.vectors)
        return self.update(grad, slots, rate, t)
