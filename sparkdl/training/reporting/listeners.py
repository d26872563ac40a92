"""Listeners, which are notified on the driver as a fit advances."""

from typing import TYPE_CHECKING, Any

from sparkdl.training.reporting.event_names import check_events
from sparkdl.training.reporting.reports import (
    EpochReport,
    FitPlan,
    Restart,
    RoundReport,
    ValidationReport,
)
from sparkdl.training.reporting.steering import StopTraining

if TYPE_CHECKING:
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState


class Listener:
    """A listener of a fit, on the driver; a subclass overrides the events that it needs.

    StopTraining, raised by any method, ends the fit well; another error interrupts it. With
    `every_updates`, a tuple of numbers, it asks for the state after multiples of each, counted in
    updates. With `steers` workers that stay wait for it after each epoch and evaluation: what it
    does to `plan.steering`, as to the learning rates, then holds for all that they train next.
    `counters` names attributes that a resumed fit goes on with, values that JSON has: checkpoints
    hold them. Listeners that steer are told before all others, and then those with counters.

    `every_updates`, and `validate_every` of a fit, end a round where they fall into one. Masters
    whose workers train alone in a round (ParameterAveraging, BlockMomentum, LocalSGD,
    ElasticAveraging, ParameterServer with push_every or fetch_every) then exchange earlier, so that
    the weights differ from those of a fit without. They do not for a multiple of the updates
    between two exchanges (averaging_frequency), if each epoch has a multiple of them, too.
    """

    every_updates = ()
    steers = False
    counters: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_events(cls, Listener)

    def on_fit_start(self, plan: FitPlan) -> None:
        """Called when a fit begins; `plan` is a FitPlan."""

    def resume(self, counters: dict[str, Any]) -> None:
        """Called after on_fit_start of a fit that goes on, with what was counted before."""
        vars(self).update(counters)

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        """Called after a round; `report` is its RoundReport, `state` the TrainState after it.

        Where workers stay for the whole fit they have the state; it is None here but for the
        rounds after which they sent it: every `snapshot_every`, one about each `snapshot_seconds`,
        those of Checkpoints, the last of an epoch and of the fit, and those that some listener has
        asked for.
        """

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        """Called after an evaluation by updates; `report` is a ValidationReport."""

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        """Called when an epoch is done and evaluated; `report` is its EpochReport."""

    def on_restart(self, restart: Restart) -> None:
        """Called when workers begin anew, as one was lost or all move to other slots.

        `restart` is a Restart.

        The rounds that are lost will be reported again.
        """

    def on_fit_end(self, history: "History") -> None:
        """Called when the fit is over, also, with what was done, where it failed."""


class Listeners(Listener):
    """Several listeners as one; they are called in the order given."""

    def __init__(self, *listeners: Any) -> None:
        self.listeners = listeners
        self.every_updates = tuple(n for one in listeners for n in one.every_updates)
        self.steers = any(one.steers for one in listeners)

    def on_fit_start(self, plan: FitPlan) -> None:
        self._tell("on_fit_start", plan)

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        self._tell("on_round", report, state)

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        self._tell("on_validation", report, state)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        self._tell("on_epoch", report, state)

    def on_restart(self, restart: Restart) -> None:
        self._tell("on_restart", restart)

    def _tell(self, event, *arguments):
        """Tells every listener, also after one that stops the fit; raises the first such."""
        stops = []
        for listener in self.listeners:
            try:
                getattr(listener, event)(*arguments)
            except StopTraining as stop:
                stops.append(stop)
        if stops:
            raise stops[0]

    def on_fit_end(self, history: "History") -> None:
        """Tells every listener the end, also after one that failed; raises the first error."""
        failures = []
        for listener in self.listeners:
            try:
                listener.on_fit_end(history)
            except StopTraining:
                pass  # it is over
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
