"""Base of the activation functions, which layers apply to their weighted sums.

A layer names one ("relu") or gives its options ({"type": "leaky_relu", "alpha": 0.1}).
"""

from sparkdl.config import Member, dataclass
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class ActivationFunction(Member):
    """Base of all activation functions: `apply` maps an array or Tensor to one of its shape."""

    def apply(self, x: Value) -> Value:
        raise NotImplementedError
