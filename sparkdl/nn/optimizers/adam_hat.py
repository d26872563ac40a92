"""Adam as Caffe, DL4J and TensorFlow compute it."""

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.adam import Adam, one_minus_power


@dataclass(frozen=True, kw_only=True)
class AdamHat(Adam):
    """Adam with epsilon added before v is corrected: it differs from Adam where v is tiny.

    m and v are running means of g and g^2; step = -rate c m / (sqrt(v) + epsilon) with
    c = sqrt(1 - beta2^t) / (1 - beta1^t).

    References
    ----------
    Kingma and Ba, Adam: a method for stochastic optimization (2015), the end of section 2, where
    this epsilon has a hat. Caffe's solver type Adam, DL4J's Adam, TensorFlow's.
    """

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * slots["square"] + (1 - self.beta2) * ops.square(grad)
        factor = ops.sqrt(one_minus_power(self.beta2, t)) / one_minus_power(self.beta1, t)
        step = -(rate * factor) * mean / (ops.sqrt(square) + self.epsilon)
        return step, {"mean": mean, "square": square}
