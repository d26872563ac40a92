"""Settings of a fit that the driver sends to all workers."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sparkdl.training.resident.schedule import BlockSchedule
from sparkdl.training.rounds.milestones import Milestones


class DueEvents(NamedTuple):
    """The events due after a round: an evaluation of the state, the end of an epoch."""

    evaluation: bool = False
    epoch: bool = False


NO_EVENTS = DueEvents()


@dataclass(frozen=True, kw_only=True, eq=False)
class FitSetup:
    """Plain data that the driver sends to all workers.

    Parameters
    ----------
    conf : NetworkConf
    master : ResidentMaster
    state : TrainState
        What all start from.
    epochs : int
        The epoch to stop before.
    schedule : BlockSchedule
    transform : callable or None
        Batch to Batch, of the data to train on.
    evaluator : Evaluator or None
        Where there is data to evaluate on.
    marks : Milestones
    due_events : DueEvents
        The events that are yet to follow the round before the state.
    snapshot_every_rounds : tuple of int
        Rounds, counted over all epochs: after multiples of any of them the driver gets the state.
    steered : bool
        Whether workers wait for the driver's word after each epoch and evaluation.
    address : (str, int)
        Where the driver listens.
    secret : bytes
        Of this launch; in the workers only.
    tls : Tls, JobTls or None
        The same.
    """

    conf: Any
    master: Any
    state: Any
    epochs: int
    schedule: BlockSchedule
    transform: Any = None
    evaluator: Any = None
    marks: Milestones = field(default_factory=Milestones)
    due_events: DueEvents = NO_EVENTS
    snapshot_every_rounds: tuple[int, ...] = ()
    steered: bool = False
    address: tuple[str, int] = ("", 0)
    secret: bytes = field(default=b"", repr=False)
    tls: Any = field(default=None, repr=False)

    @property
    def layers(self):
        """What an Endpoint takes, and `dial`, to protect bytes on their way."""
        return {"tls": self.tls, "integrity": self.master.integrity}

    def over(self, state):
        """Returns whether nothing is left to train."""
        return state.epoch >= self.epochs or self.marks.over(state.iteration)

    def part(self, state):
        """Returns the RoundPart that is next."""
        return self.schedule.part(state, self.master, self.marks)

    def due(self, before, state):
        """Returns the events that follow a round, given the counters before and after it."""
        return DueEvents(self.marks.has_evaluation(before, state), state.starts_epoch)

    def is_snapshot(self, before, state):
        """Returns whether the driver is sent the state after a round."""
        by_rounds = any(state.rounds % n == 0 for n in self.snapshot_every_rounds)
        marked = self.marks.has_mark(before.iteration, state.iteration)
        return state.starts_epoch or by_rounds or marked
