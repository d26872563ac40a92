"""What layers with parameters may choose about their training."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.errors import require
from sparkdl.nn.checks import is_not_negative
from sparkdl.nn.constraints import Constraint
from sparkdl.nn.layers.base import Layer
from sparkdl.nn.updaters import Updater


@dataclass(frozen=True, kw_only=True)
class Trained(Layer, abstract=True):
    """A layer with parameters.

    Parameters
    ----------
    rate_factor : float
        Factor of the learning rate, at least 0; with 0 the parameters stay as they are. Caffe's
        lr_mult.
    bias_rate_factor : float, optional
        The same of biases alone; rate_factor unless given.
    updater, bias_updater : Updater, optional
        Of this layer, with its own rate, and of its biases; the network's, and the layer's, unless
        given.
    decay_factor : float
        Factor of l1 and l2, the network's or the layer's own, and of the updater's weight decay, at
        least 0; bias_l1 and bias_l2 hold as they are. Caffe's decay_mult of the weights.
    constraints : sequence of Constraint, optional
        Of the weights, one after the other; the network's unless given. In a layer that has no
        weights, but factors that are learned, those given are of these.
    bias_constraints : sequence of Constraint
        Of the biases.
    """

    biases: ClassVar[tuple[str, ...]] = ("b",)  # parameters that the bias_ options are for

    rate_factor: float = 1.0
    bias_rate_factor: float | None = None
    updater: Updater | None = field(default=None, metadata=of(Updater))
    bias_updater: Updater | None = field(default=None, metadata=of(Updater))
    decay_factor: float = 1.0
    constraints: tuple[Constraint, ...] | None = field(
        default=None, metadata=of(Constraint, many=True)
    )
    bias_constraints: tuple[Constraint, ...] = field(default=(), metadata=of(Constraint, many=True))

    def __post_init__(self):
        super().__post_init__()
        for name in ("rate_factor", "bias_rate_factor", "decay_factor"):
            value = getattr(self, name)
            holds = is_not_negative(value) or (value is None and name == "bias_rate_factor")
            require(self, name, holds, "a number >= 0")
