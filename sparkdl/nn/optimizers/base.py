"""Base of the optimizers, which map a gradient and slots to a step and new slots."""

from typing import ClassVar

from sparkdl.config import Member, Number, Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layout import Layout
from sparkdl.nn.schedules.base import Schedule, rate_at


@dataclass(frozen=True, kw_only=True)
class Optimizer(Member):
    """Base of all optimizers. They see one flat vector, of arrays or Tensors alike.

    Most need `update` alone; those that look at the parameters too have a `move` of their own.
    """

    slot_names: ClassVar[tuple[str, ...]] = ()
    elementwise: ClassVar[bool] = True  # whether each number's step depends on it alone

    learning_rate: float | Schedule = option(
        Of(family=Schedule, number=Number(above=0)), "Learning rate.", default=0.01
    )
    weight_decay: float = option(
        Number(minimum=0),
        "Decoupled decay: rate weight_decay w is taken from each weight w beside the step. As "
        "with l1 and l2, biases and batch normalization are left alone. DL4J's WeightDecay.",
        default=0.0,
    )
    ema_decay: float | None = option(
        Number(above=0, below=1),
        "Decay d of an exponential moving average of the weights: the mean of the weights after "
        "each update, with a factor of d for every update since. Network.with_averaged_weights "
        "returns it. The average is one more vector of the optimizer's state, and weights are "
        "trained the same. None: no average.",
        default=None,
    )

    @property
    def slot_start(self) -> dict[str, float]:
        """The number that each slot is filled with at first, where it is not 0."""
        return {}

    def rate_at(self, iteration: float, epoch: float) -> float:
        """Returns the learning rate of update number `iteration` (from 0), in epoch `epoch`."""
        return rate_at(self.learning_rate, iteration, epoch)

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        """Returns the step to add to the parameters, and the new slots.

        Parameters
        ----------
        grad : float (n,)
            Gradient of the loss.
        slots : dict of float (n,)
            One vector for each of `slot_names`.
        rate, t : float scalar
            Learning rate of this update, and its number, from 1 (Adam's bias correction).
        """
        raise NotImplementedError

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
        """Returns the step to add to `params`, with decoupled weight decay, and the new slots.

        Parameters
        ----------
        params, grad : float (n,)
        slots, rate, t
            As for `update`.
        layout : Layout
            Which array lies where in the vectors.
        decay : float (n,) or None
            `weight_decay` for each entry that is decayed, 0 for others; None where all are 0.
        """
        step, slots = self.update(grad, slots, rate, t)
        if decay is None:
            return step, slots
        return ops.sub(step, ops.mul(rate, ops.mul(decay, params))), slots
