"""Adam with decoupled weight decay."""

from sparkdl.config import dataclass
from sparkdl.nn.optimizers.adam import Adam


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam with a weight_decay from the start.

    PyTorch and optax compute the same, but decay every parameter unless told otherwise. The default
    is PyTorch's.

    References
    ----------
    Loshchilov and Hutter, Decoupled weight decay regularization (2019), algorithm 2, where the
    decay is not multiplied by the rate, only by its schedule.
    """

    weight_decay: float = 0.01
