"""Setup of a fit, which the driver sends to all workers."""

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
        The state that all start from.
    epochs : int
        The epoch to stop before.
    schedule : BlockSchedule
    transform : callable or None
        Batch to Batch, for training data.
    evaluator : Evaluator or None
        Given if there is validation data.
    marks : Milestones
    due_events : DueEvents
        The events still due after the round before the state.
    snapshot_every_rounds : tuple of int
        The driver gets the state after multiples of any of these, counted over all epochs.
    steered : bool
        Whether workers wait for the driver's reply after each epoch and evaluation.
    address : (str, int)
        Where the driver listens.
    secret : bytes
        Of this launch; set only in the workers.
    tls : Tls, JobTls or None
        Likewise.
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
        """Options of Endpoint and `dial` that protect data in transit."""
        return {"tls": self.tls, "integrity": self.master.integrity}

    def over(self, state):
        """Returns whether training is complete."""
        return state.epoch >= self.epochs or self.marks.over(state.iteration)

    def part(self, state):
        """Returns the next RoundPart."""
        return self.schedule.part(state, self.master, self.marks)

    def due(self, before, state):
        """Returns the events that follow a round, given the counters before and after it."""
        return DueEvents(self.marks.has_evaluation(before, state), state.starts_epoch)

    def is_snapshot(self, before, state):
        """Returns whether the driver receives the state after a round."""
        by_rounds = any(state.rounds % n == 0 for n in self.snapshot_every_rounds)
        marked = self.marks.has_mark(before.iteration, state.iteration)
        return state.starts_epoch or by_rounds or marked
