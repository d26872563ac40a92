"""What an updater is: gradient and slots in, step and slots out."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.errors import require
from sparkdl.nn.checks import is_positive
from sparkdl.nn.config import Member, of
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class Updater(Member):
    """Base of all updaters. They see one flat vector, and are written for arrays and Tensors alike.

    Parameters
    ----------
    rate : float or Schedule
        Learning rate, above 0.
    """

    slot_names: ClassVar[tuple[str, ...]] = ()
    weight_decay: ClassVar[float] = 0.0  # decoupled: taken from the weights after the step

    rate: float | Schedule = field(default=0.01, metadata=of(Schedule, number=True))

    def __post_init__(self):
        super().__post_init__()
        holds = isinstance(self.rate, Schedule) or is_positive(self.rate)
        require(self, "rate", holds, "a number above 0 or a schedule")

    @property
    def slot_start(self):
        """The number that each slot is filled with at first, where it is not 0."""
        return {}

    def rate_at(self, iteration, epoch):
        """The learning rate of update number `iteration` (from 0), in epoch `epoch`."""
        rate = self.rate
        return rate.rate(iteration, epoch) if isinstance(rate, Schedule) else float(rate)

    def update(self, grad, slots, rate, t):
        """The step to add to the parameters, and the new slots.

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
