"""Base of listeners that keep the fit so far."""

from typing import Any

from sparkdl.training.report.run import Run
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener


class RunListener(Listener):
    """Keeps the Run of a fit so far as `_run`, for subclasses that show or write it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._run = Run(title, History(), ended=False)

    def on_fit_start(self, plan: Any) -> None:
        self._run = Run(self.title, plan.history, plan.conf, ended=False)

    def on_round(self, report: Any, state: Any) -> None:
        self._keep(state)

    def on_validation(self, report: Any, state: Any) -> None:
        self._keep(state)

    def on_epoch(self, report: Any, state: Any) -> None:
        self._keep(state)

    def on_fit_end(self, history: Any) -> None:
        self._run = self._run._replace(history=history, ended=True)

    def _keep(self, state):
        """Keeps the last known state; resident workers send theirs only from time to time."""
        if state is not None:
            self._run = self._run._replace(state=state)
