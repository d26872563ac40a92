"""A listener that writes the page of a fit while it runs."""

import time
from os import PathLike
from typing import Any

from sparkdl.errors import require
from sparkdl.training.report.page import check_report_path, write_report
from sparkdl.training.report.run_listener import RunListener
from sparkdl.training.reporting.monitor import is_number

SHARE = 0.02  # most of a fit's time spent on its page, except for the last one


class HtmlReport(RunListener):
    """Writes the HTML report of a fit while it runs, and a final one at its end.

    An open browser page reloads it every `seconds`. A fit that another listener refuses as it
    begins leaves an existing page as it is.

    Parameters
    ----------
    path : path
        Path of the HTML file; an existing one is replaced, and missing folders are created.
    title : str
    seconds : float
        Shortest time between two pages; longer if pages take long to write, so that they take 2 %
        of the fit.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[HtmlReport("fit.html")])
    """

    def __init__(
        self, path: str | PathLike[str], title: str = "Fit", seconds: float = 10.0
    ) -> None:
        super().__init__(title)
        self.path, self.seconds = path, seconds
        require_seconds(self)
        self._due = 0.0
        self._steering: Any = None

    def on_fit_start(self, plan: Any) -> None:
        """Raises DataError for a path that cannot have the page."""
        check_report_path(self.path)
        super().on_fit_start(plan)
        self._due, self._steering = 0.0, plan.steering

    def on_fit_end(self, history: Any) -> None:
        super().on_fit_end(history)
        if not self._steering.refused:
            self._write(None)

    def _keep(self, state):
        super()._keep(state)
        if time.monotonic() >= self._due:
            start = time.monotonic()
            self._write(self.seconds)
            took = time.monotonic() - start
            self._due = start + max(self.seconds, took / SHARE)

    def _write(self, refresh):
        write_report(self.path, [self._run], self.title, refresh)


def require_seconds(listener: Any) -> None:
    """Raises ConfigError unless a listener's `seconds` is a number above 0."""
    sound = is_number(listener.seconds) and listener.seconds > 0
    require(listener, "seconds", sound, "a number > 0")
