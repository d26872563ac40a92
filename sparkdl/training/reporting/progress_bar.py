"""A progress bar for a fit: epoch, round, loss, examples/s, time left."""

import sys
from typing import TYPE_CHECKING, Any

from tqdm import tqdm
from tqdm.auto import tqdm as widget_or_line

from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import EpochReport, FitPlan, Restart, RoundReport

if TYPE_CHECKING:
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState


FORMAT = "{desc} |{bar}| {percentage:3.0f}% {elapsed} gone, {remaining} left{postfix}"


class ProgressBar(Listener):
    """A progress bar over all rounds of a fit, with a line for each finished epoch.

    In a notebook it is a widget, which shows the last finished epoch in place of lines.

    Parameters
    ----------
    show : bool or None
        None: only on a terminal and in a notebook, so that log files stay clean.
    file : text stream or None
        Output stream. None: standard error.
    interval : float
        Seconds between two redraws.
    """

    def __init__(self, show: bool | None = None, file: Any = None, interval: float = 0.1) -> None:
        self.show = show
        self.file = file
        self.interval = interval
        self._bar: Any = None
        self._epochs: int = 0
        self._updates: int | None = None

    def on_fit_start(self, plan: FitPlan) -> None:
        file = self.file or sys.stderr
        self._close()
        self._epochs, self._updates = plan.epochs, plan.updates
        kind = widget_or_line if self.file is None else tqdm
        self._bar = kind(
            desc="preparing",
            total=plan.updates or plan.rounds_in_all,
            initial=plan.iteration if plan.updates else plan.rounds_before,
            file=file,
            disable=not (_is_watched(file) if self.show is None else self.show),
            mininterval=self.interval,
            bar_format=FORMAT,
            dynamic_ncols=True,
        )

    def on_round(self, report: RoundReport, state: "TrainState | None") -> None:
        if self._updates:
            place = f"update {report.iteration}/{self._updates} epoch {report.epoch + 1}"
        else:
            place = f"epoch {report.epoch + 1}/{self._epochs}"
        place += f" round {report.round + 1}/{report.rounds_in_epoch}"
        figures = f"loss {report.loss:.4f}, {report.examples_per_second:.0f} examples/s"
        self._bar.set_description_str(place, refresh=False)
        self._bar.set_postfix_str(figures, refresh=False)
        self._bar.update(report.iteration - self._bar.n if self._updates else 1)

    def on_epoch(self, report: EpochReport, state: "TrainState") -> None:
        if not self._bar.disable:
            score = "" if report.score is None else f", score {report.score:.4f}"
            of = "" if self._updates else f"/{self._epochs}"
            line = f"epoch {report.epoch + 1}{of}: loss {report.loss:.4f}{score}, "
            self._say(f"{line}{report.duration:.1f} s")

    def on_restart(self, restart: Restart) -> None:
        if not self._updates:
            self._bar.update(-restart.lost)
        if not self._bar.disable:
            self._say(str(restart))

    def on_fit_end(self, history: "History") -> None:
        self._close()

    def _say(self, line):
        if self.file is None and _in_notebook():
            self._bar.set_postfix_str(line)
        else:
            self._bar.write(line, file=self._bar.fp)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _is_watched(file: Any) -> bool:
    """Returns whether a person sees what is written to `file` while it is written."""
    is_terminal = getattr(file, "isatty", None)  # a replacement of standard error may lack it
    return (is_terminal is not None and is_terminal()) or _in_notebook()


def _in_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")
