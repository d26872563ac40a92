"""Listeners, which are notified on the driver as a fit advances."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sparkdl.config import is_integer
from sparkdl.errors import require, text_of
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

    StopTraining, raised by any method, ends the fit cleanly; any other error interrupts it. With
    `every_updates`, a tuple of numbers, a listener asks for the state after multiples of each,
    counted in updates. With `steers`, workers that stay wait for the listener after each epoch and
    evaluation, so its changes to `plan.steering`, such as to learning rates, apply to all later
    training. `counters` names attributes with JSON values that checkpoints hold and a resumed fit
    restores. Listeners that steer are called first, then those with counters.

    `every_updates`, and a fit's `validate_every`, end a round early if they fall into one. Masters
    whose workers train alone in a round (ParameterAveraging, BlockMomentum, LocalSGD,
    ElasticAveraging, ParameterServer with push_every or fetch_every) then exchange earlier, so the
    weights differ from those of a fit without. They stay the same for a multiple of the updates
    between two exchanges (averaging_frequency), if each epoch also has a multiple of them.
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
        """Called after on_fit_start of a resumed fit, with the earlier counts."""
        vars(self).update(counters)

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        """Called after a round; `report` is its RoundReport, `state` the TrainState after it.

        If workers stay for the whole fit, they hold the state, and `state` is None except after
        rounds in which they sent it: every `snapshot_every` rounds, about every `snapshot_seconds`,
        for Checkpoints, at the end of an epoch and of the fit, and when a listener has asked for
        it.
        """

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        """Called after an evaluation by updates; `report` is a ValidationReport."""

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        """Called when an epoch is done and evaluated; `report` is its EpochReport."""

    def on_restart(self, restart: Restart) -> None:
        """Called when workers restart, because one was lost or all move to other slots.

        `restart` is a Restart.

        The rounds that are lost will be reported again.
        """

    def on_fit_end(self, history: "History") -> None:
        """Called when the fit is over, even if it failed, with what was done.

        If another listener refuses the fit in its `on_fit_start`, those before it are called, too.
        """


class Listeners(Listener):
    """Several listeners as one; they are called in the order given."""

    def __init__(self, *listeners: Any) -> None:
        self.listeners = listeners
        for one in listeners:
            given = one.every_updates
            sound = isinstance(given, tuple | list) and all(is_integer(n, 1) for n in given)
            require(one, "every_updates", sound, "a tuple of integers >= 1")
        self.every_updates = tuple(n for one in listeners for n in one.every_updates)
        self.steers = any(one.steers for one in listeners)

    def on_fit_start(self, plan: FitPlan) -> None:
        """Notifies every listener; if one refuses the fit, those before it are told of its end."""
        told: list[Listener] = []
        try:
            self._tell("on_fit_start", plan, told=told)
        except StopTraining:
            raise
        except BaseException as refusal:
            tell_refusal(told, plan, refusal)
            raise

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        self._tell("on_round", report, state)

    def on_validation(self, report: ValidationReport, state: "TrainState") -> None:
        self._tell("on_validation", report, state)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        self._tell("on_epoch", report, state)

    def on_restart(self, restart: Restart) -> None:
        self._tell("on_restart", restart)

    def _tell(self, event, *arguments, told=None):
        """Notifies every listener, even after one stops the fit; then raises the first
        StopTraining. Adds those that have been notified to the list `told`.
        """
        stops = []
        for listener in self.listeners:
            try:
                getattr(listener, event)(*arguments)
            except StopTraining as stop:
                stops.append(stop)
            if told is not None:
                told.append(listener)
        if stops:
            raise stops[0]

    def on_fit_end(self, history: "History") -> None:
        """Notifies every listener, even after one fails; then raises the first error.

        The others are notes of it.
        """
        failures = []
        for listener in self.listeners:
            try:
                listener.on_fit_end(history)
            except StopTraining:
                pass  # the fit is over anyway
            except Exception as failure:
                failures.append(failure)
        if failures:
            for other in failures[1:]:
                failures[0].add_note(f"another listener failed, too: {text_of(other)}")
            raise failures[0]


def tell_refusal(told, plan, refusal):
    """Ends a fit that an error has ended before it began, for the listeners told of its start."""
    plan.steering.error, plan.steering.refused = refusal, True
    if plan.history is not None:
        kind = type(refusal).__name__
        plan.history.end_reason = f"interrupted by {kind} before the first round"
    with suppress(Exception):  # the refusal says more
        Listeners(*told).on_fit_end(plan.history)
