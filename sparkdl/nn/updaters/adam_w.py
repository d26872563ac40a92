"""Adam with weight decay that is not scaled by its running means."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_not_negative
from sparkdl.nn.updaters.adam import Adam


@dataclass(frozen=True, kw_only=True)
class AdamW(Adam):
    """Adam's step, less rate weight_decay w for each weight w.

    As with l1 and l2, biases and batch normalisation are left alone. PyTorch and optax compute
    the same, but decay every parameter unless told otherwise. The default is PyTorch's.

    Parameters
    ----------
    beta1, beta2, epsilon : float
        As for Adam.
    weight_decay : float
        Share of a weight that goes with an update at rate 1, at least 0.

    References
    ----------
    Loshchilov and Hutter, Decoupled weight decay regularization (2019), algorithm 2, where the
    decay is not multiplied by the rate, only by its schedule.
    """

    weight_decay: float = 0.01

    def __post_init__(self):
        super().__post_init__()
        require(self, "weight_decay", is_not_negative(self.weight_decay), "a number >= 0")
