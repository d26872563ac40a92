"""A listener that serves the page of a fit while it runs."""

import time
from dataclasses import replace
from os import PathLike
from typing import Any

from sparkdl.html_elements import element, text_of
from sparkdl.training.report.html_report import SHARE, require_seconds
from sparkdl.training.report.loopback import require_port
from sparkdl.training.report.page import page
from sparkdl.training.report.run_listener import RunListener
from sparkdl.training.report.run_log import RunLog


class Dashboard(RunListener):
    """Serves a live page of a fit.

    It listens only on this machine, and its URL has a token, without which nothing is shown. From
    elsewhere, use `ssh -L PORT:127.0.0.1:PORT DRIVER`. In a notebook, a cell that ends with the
    Dashboard shows the page. The server ends with `close` or with the process.

    Parameters
    ----------
    port : int
        Port to listen on; 0: any free one.
    folder : path, optional
        Folder for a RunLog, which is written too. A fit that resumes from a checkpoint in another
        process then also shows the earlier part.
    title : str
    spark_link : bool
        Whether jobs in the Spark UI link to this page, at /sparkdl. Whoever may see the Spark UI
        then learns the URL with its token. Not over Spark Connect, nor for streams.
    seconds : float
        Shortest time between two changes of the page; longer if pages take long to make, so that
        they take 2 % of the fit.

    Attributes
    ----------
    url : str

    Raises
    ------
    UnsupportedError
        The port is taken.

    Examples
    --------
    >>> dashboard = Dashboard()
    >>> print(dashboard.url)
    >>> net.fit(data, epochs=10, listeners=[dashboard])
    """

    def __init__(
        self,
        port: int = 0,
        folder: str | PathLike[str] | None = None,
        title: str = "Fit",
        seconds: float = 1.0,
        spark_link: bool = False,
    ) -> None:
        from sparkdl.training.report.page_server import PageServer  # needed only here

        super().__init__(title)
        self.port, self.seconds, self.spark_link = port, seconds, spark_link
        require_seconds(self)
        require_port(self)
        self._log = None if folder is None else RunLog(folder)
        self._shown, self._due = self._run, 0.0
        self._server = PageServer(self._render, port)
        self.url = self._server.url

    def on_fit_start(self, plan: Any) -> None:
        super().on_fit_start(plan)
        self._tell("on_fit_start", plan)

    def on_round(self, report: Any, state: Any) -> None:
        super().on_round(report, state)
        self._tell("on_round", report, state)

    def on_validation(self, report: Any, state: Any) -> None:
        super().on_validation(report, state)
        self._tell("on_validation", report, state)

    def on_epoch(self, report: Any, state: Any) -> None:
        super().on_epoch(report, state)
        self._tell("on_epoch", report, state)

    def on_restart(self, restart: Any) -> None:
        self._tell("on_restart", restart)

    def on_fit_end(self, history: Any) -> None:
        super().on_fit_end(history)
        self._due = 0.0
        self._tell("on_fit_end", history)

    def close(self) -> None:
        """Ends the server; a browser keeps the page that it shows."""
        self._server.close()

    def _repr_html_(self) -> str:
        frame = element("iframe", src=self.url, width="100%", height="700", title=self.title)
        return text_of(frame)

    def _tell(self, event, *arguments):
        """Passes an event to the log and, if it is time, notifies browsers of the change."""
        if self._log is not None:
            getattr(self._log, event)(*arguments)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + self.seconds
            self._shown = self._run._replace(history=copy(self._run.history))
            self._server.notify()

    def _render(self):
        """Returns the page, made in the server's thread; slow pages are made less often."""
        start = time.monotonic()
        text = page([self._run_to_show()], self.title, live=True)
        self._due = max(self._due, start + (time.monotonic() - start) / SHARE)
        return text

    def _run_to_show(self):
        """Returns the Run of the log, if there is one, as it includes earlier parts of the fit."""
        from sparkdl.training.report.run_folder import read_run  # needed only with a log

        kept = self._log is not None and self._log.path.exists()
        return read_run(self._log.path.parent, self.title) if kept else self._shown


def copy(history):
    """Returns a copy of a History that no longer grows."""
    fields = {name: value.copy() for name, value in vars(history).items() if hasattr(value, "copy")}
    return replace(history, **fields)
