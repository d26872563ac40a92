"""Base of listeners that export meters to a monitoring system."""

from typing import Any

from sparkdl.training.report.meters import Meters
from sparkdl.training.reporting.listeners import Listener


class MeterListener(Listener):
    """Keeps the Meters of the fits that it hears of, `_meters`."""

    def __init__(self) -> None:
        self._meters = Meters()
        self._plan: Any = None

    def on_fit_start(self, plan: Any) -> None:
        self._plan = plan
        self._meters.start(plan)

    def on_round(self, report: Any, state: Any) -> None:
        self._meters.round(self._plan, report)

    def on_validation(self, report: Any, state: Any) -> None:
        self._meters.evaluation(report.validation)

    def on_epoch(self, report: Any, state: Any) -> None:
        if report.validation is not None:
            self._meters.evaluation(report.validation)

    def on_restart(self, restart: Any) -> None:
        self._meters.restart(self._plan, restart)

    def on_fit_end(self, history: Any) -> None:
        self._meters.end(self._plan, history)
