"""A listener that knows the fit until now."""

from typing import Any

from sparkdl.training.report.run import Run
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.listeners import Listener


class RunListener(Listener):
    """Keeps the Run of a fit as it goes on, `_run`, for those who show it or write it down."""

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
        """Keeps the last state that is known: workers that stay send it now and then."""
        if state is not None:
            self._run = self._run._replace(state=state)
