"""What the driver tells all workers of a fit."""

from dataclasses import dataclass, field
from typing import Any

from sparkdl.training.resident.schedule import Schedule


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared:
    """Plain data, so that it travels.

    Parameters
    ----------
    conf : NetworkConf
    master : ResidentMaster
    state : TrainState
        What all start from.
    epochs : int
        The epoch to stop before.
    schedule : Schedule
    transform, validation_transform : callable or None
        Batch to Batch, of the data to train on and to evaluate on.
    evaluates : bool
        Whether there is data to evaluate on after each epoch.
    owes : bool
        Whether the epoch before the state's has yet to be evaluated.
    every : tuple of int
        Rounds, counted over all epochs: after multiples of any of them the driver gets the state.
    address : (str, int)
        Where the driver listens.
    secret : bytes
        Of this launch.
    """

    conf: Any
    master: Any
    state: Any
    epochs: int
    schedule: Schedule
    transform: Any = None
    validation_transform: Any = None
    evaluates: bool = False
    owes: bool = False
    every: tuple[int, ...] = ()
    address: tuple[str, int] = ("", 0)
    secret: bytes = field(default=b"", repr=False)

    def is_snapshot(self, state):
        """Whether the driver is sent the state, given its counters after a round."""
        return state.round == 0 or any(state.rounds % n == 0 for n in self.every)
