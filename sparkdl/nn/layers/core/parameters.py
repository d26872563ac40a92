"""Base of the layers with parameters: their options for training."""

from typing import ClassVar

from sparkdl.config import Number, Of, Sequence, dataclass, option
from sparkdl.config.field_types import (
    OptionalAnyOf,
    OptionalSeveralAnyOf,
    SeveralAnyOf,
)
from sparkdl.nn.constraints import Constraint
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.optimizers import Optimizer


@dataclass(frozen=True, kw_only=True)
class TrainableLayer(Layer, abstract=True):
    """A layer with parameters."""

    biases: ClassVar[tuple[str, ...]] = ("b",)  # parameters with bias_ options

    rate_factor: float = option(
        Number(minimum=0),
        "Factor of the learning rate; with 0 the parameters stay as they are. Caffe's lr_mult.",
        default=1.0,
    )
    bias_rate_factor: float | None = option(
        Number(minimum=0), "Factor of the learning rate of biases. None: rate_factor.", default=None
    )
    optimizer: OptionalAnyOf[Optimizer] = option(
        Of(family=Optimizer),
        "Optimizer of this layer, with a rate of its own. None: the network's.",
        default=None,
    )
    bias_optimizer: OptionalAnyOf[Optimizer] = option(
        Of(family=Optimizer),
        "Optimizer of this layer's biases. None: the layer's.",
        default=None,
    )
    decay_factor: float = option(
        Number(minimum=0),
        "Factor of l1 and l2, the network's or the layer's own, and of the optimizer's weight "
        "decay, but not of bias_l1 and bias_l2. Caffe's decay_mult of the weights.",
        default=1.0,
    )
    constraints: OptionalSeveralAnyOf[Constraint] = option(
        Sequence(of=Of(family=Constraint)),
        "Constraints on the weights, applied one after another. None: the network's. In a layer "
        "with learned factors but no weights, they apply to the factors.",
        default=None,
    )
    bias_constraints: SeveralAnyOf[Constraint] = option(
        Sequence(of=Of(family=Constraint)),
        "Constraints on the biases, applied one after another.",
        default=(),
    )
