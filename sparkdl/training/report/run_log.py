"""A listener that writes the events of a fit as JSON lines."""

from os import PathLike
from pathlib import Path
from typing import Any

from sparkdl.data import files
from sparkdl.errors import DataError
from sparkdl.training.report import run_lines
from sparkdl.training.report.run_listener import RunListener
from sparkdl.training.report.weights import weights_of

LOG = "fit.jsonl"


class RunLog(RunListener):
    """Logs a fit into a folder while it runs, one JSON object per line: `fit.jsonl`.

    `sparkdl report FOLDER` makes a page of it, of several folders a page that compares them. A
    round of two workers takes less than 200 bytes. A fit that resumes from a checkpoint
    (`fit(resume=...)`) continues the file; a new one replaces it with its first round,
    evaluation or restart, so a fit that is refused, or fails before, leaves it as it is.
    Checkpoints are written first, as a log may fail: if the driver is killed between the two, the
    file lacks the line of that round or epoch.

    Parameters
    ----------
    folder : path
        A local folder; it is created if missing.

    Raises
    ------
    DataError
        The folder is not local, or cannot be written to.

    Examples
    --------
    >>> net.fit(data, epochs=10, listeners=[RunLog("runs/first")])
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        super().__init__("")
        self.path = log_path(folder)
        self._held: list[str] = []  # lines that wait for the event that replaces an older log
        self._known: dict[str, Any] = {}  # values of the last round written
        self._seen: Any = None  # the last LayerReport written

    def on_fit_start(self, plan: Any) -> None:
        super().on_fit_start(plan)
        self._known = {"rounds_in_epoch": plan.rounds_in_epoch, "rate_factor": 1.0}
        lines = [run_lines.start_line(plan)]
        lines.append(run_lines.phases_line(plan.history.phases))
        self._seen, inspection = None, plan.history.inspection
        if inspection is not None:
            lines.append(run_lines.costs_line(inspection))
        goes_on = plan.epoch or plan.round
        self._append("")  # before a fit: whether it can be written at all
        if goes_on or not self.path.stat().st_size:
            self._held = []
            self._write("\n".join(lines))
        else:
            self._held = lines

    def on_round(self, report: Any, state: Any) -> None:
        super().on_round(report, state)
        second = self._run.history.round_ends[-1]
        workers = run_lines.workers_line(report, self._known)
        line = run_lines.round_line(report, second, self._known)
        self._write(line if workers is None else f"{workers}\n{line}")
        self._write_layers()

    def on_validation(self, report: Any, state: Any) -> None:
        super().on_validation(report, state)
        self._write(run_lines.validation_line(report))

    def on_epoch(self, report: Any, state: Any) -> None:
        super().on_epoch(report, state)
        self._write(run_lines.epoch_line(report))
        self._write_layers()
        self._write(run_lines.phases_line(self._run.history.phases))

    def on_restart(self, restart: Any) -> None:
        second = self._run.history.restart_times[-1]
        self._write(run_lines.restart_line(restart, second))

    def on_fit_end(self, history: Any) -> None:
        super().on_fit_end(history)
        if self._held:  # the fit was refused: nothing has happened
            return
        self._write(run_lines.weights_line(weights_of(self._run)))
        if history.inspection is not None:
            self._write_layers()
            self._write(run_lines.inspection_line(history.inspection))
        if self._run.evaluation is not None:
            self._write(run_lines.evaluation_line(self._run.evaluation))
        self._write(run_lines.phases_line(history.phases))
        self._write(run_lines.end_line(history))

    def _write_layers(self):
        """Writes the LayerReports added since the last call."""
        inspection, seen = self._run.history.inspection, self._seen
        if inspection is None or not inspection.layers or inspection.layers[-1] is seen:
            return
        for report in inspection.layers:
            if seen is None or report.iteration > seen.iteration:
                self._write(run_lines.layers_line(report))
        self._seen = inspection.layers[-1]

    def _write(self, line):
        """Writes a complete line at once, so that at most the last is unfinished for a reader."""
        if self._held:
            line, self._held = "\n".join([*self._held, line]), []
            self._append(line + "\n", "w")
        else:
            self._append(line + "\n")

    def _append(self, text, mode="a"):
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open(mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            text = f"{self.path}: cannot be written: {error.strerror or error}"
            raise DataError(text) from error


def log_path(folder):
    """Returns the Path of the log in a folder; raises DataError unless it is local."""
    return Path(files.local_path(folder, "lines are appended to a log"), LOG)


def check_log_folder(folder):
    """Raises DataError if a folder can have no log: a file, below one, or read-only."""
    files.check_parents(log_path(folder))
