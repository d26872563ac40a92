"""A listener that writes the page of a fit while it goes on."""

import time
from os import PathLike
from typing import Any

from sparkdl.errors import require
from sparkdl.training.report.page import write_report
from sparkdl.training.report.run import Run
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.monitor import is_number

SHARE = 0.02  # of the time of a fit that goes into its page at most, but for the last


class HtmlReport(Listener):
    """Writes the page of a fit as it goes on, and the last one at its end.

    A browser that shows the page reads it again after `seconds`.

    Parameters
    ----------
    path : path
        Of the HTML file; one that is there is replaced.
    title : str
    seconds : float
        Between two pages at least; with pages that take long to write it is more, so that they
        take 2 % of the fit.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[HtmlReport("fit.html")])
    """

    def __init__(
        self, path: str | PathLike[str], title: str = "Fit", seconds: float = 10.0
    ) -> None:
        self.path, self.title, self.seconds = path, title, seconds
        sound = is_number(seconds) and seconds > 0
        require(self, "seconds", sound, "a number > 0")
        self._history = self._conf = self._state = None
        self._due = 0.0

    def on_fit_start(self, plan: Any) -> None:
        self._history, self._conf, self._state = plan.history, plan.conf, None
        self._due = 0.0

    def on_round(self, report: Any, state: Any) -> None:
        self._note(state)

    def on_validation(self, report: Any, state: Any) -> None:
        self._note(state)

    def on_epoch(self, report: Any, state: Any) -> None:
        self._note(state)

    def on_fit_end(self, history: Any) -> None:
        self._history = history
        self._write(None)

    def _note(self, state):
        self._state = state or self._state
        if time.monotonic() >= self._due:
            start = time.monotonic()
            self._write(self.seconds)
            took = time.monotonic() - start
            self._due = start + max(self.seconds, took / SHARE)

    def _write(self, refresh):
        run = Run(self.title, self._history, self._conf, self._state)
        write_report(self.path, [run], self.title, refresh)
