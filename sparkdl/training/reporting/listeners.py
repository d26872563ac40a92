"""Listeners, which are notified on the driver as a fit advances."""

from typing import TYPE_CHECKING, Any

from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    Restart,
    RoundReport,
    ValidationReport,
)

if TYPE_CHECKING:
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState


class Listener:
    """A listener of a fit, on the driver; a subclass overrides the events that it needs.

    An error that a listener raises stops the fit. With `every_updates`, a tuple of numbers, it asks
    for the state after multiples of each, counted in updates.
    """

    every_updates = ()

    def on_fit_start(self, plan: FitPlan) -> None:
        """Called when a fit begins; `plan` is a FitPlan."""

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        """Called after a round; `report` is its RoundReport, `state` the TrainState after it.

        Where workers stay for the whole fit they have the state; it is None here but for the
        rounds after which they sent it: every `snapshot_every`, those of Checkpoints, the last of
        an epoch and of the fit, and those that some listener has asked for.
        """

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        """Called after an evaluation by updates; `report` is a ValidationReport."""

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        """Called when an epoch is done and evaluated; `report` is its EpochReport."""

    def on_restart(self, restart: Restart) -> None:
        """Called when a worker was lost; `restart` is a Restart.

        The rounds that are lost will be reported again.
        """

    def on_fit_end(self, history: "History") -> None:
        """Called when the fit is over, also, with what was done, where it failed."""


class Listeners(Listener):
    """Several listeners as one; they are called in the order given."""

    def __init__(self, *listeners: Any) -> None:
        self.listeners = listeners
        self.every_updates = tuple(n for one in listeners for n in one.every_updates)

    def on_fit_start(self, plan: FitPlan) -> None:
        for listener in self.listeners:
            listener.on_fit_start(plan)

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        for listener in self.listeners:
            listener.on_round(report, state)

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        for listener in self.listeners:
            listener.on_validation(report, state)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        for listener in self.listeners:
            listener.on_epoch(report, state)

    def on_restart(self, restart: Restart) -> None:
        for listener in self.listeners:
            listener.on_restart(restart)

    def on_fit_end(self, history: "History") -> None:
        """Tells every listener the end, also after one that failed; raises the first error."""
        failures = []
        for listener in self.listeners:
            try:
                listener.on_fit_end(history)
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
