"""Adam with layer-wise step sizes, for large batches."""

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimizers.adam import Adam
from sparkdl.nn.optimizers.trust import TrustScaled, scale_by_trust_ratio


@dataclass(frozen=True, kw_only=True)
class Lamb(TrustScaled, Adam):
    """Adam's step at rate 1, less weight_decay w, scaled to the length of w array by array.

    As with l1 and l2, biases and batch normalization are not decayed. optax computes the same with
    the mask that leaves arrays of one axis out; the defaults are its own but for the decay.

    References
    ----------
    You et al., Large batch optimization for deep learning: training BERT in 76 minutes (2020),
    algorithm 2, with the identity as phi.
    """

    epsilon: float = 1e-6
    weight_decay: float = 0.01

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
        step, slots = self.update(grad, slots, 1.0, t)
        step = step if decay is None else ops.sub(step, ops.mul(decay, params))
        return ops.mul(
            scale_by_trust_ratio(step, params, layout, 1.0, 0.0, self.vectors), rate
        ), slots
