"""A fit to be shown on a page."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.training.report.recorded_evaluation import RecordedEvaluation
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState

QUIET = timedelta(minutes=2)  # silence of a log from which on a page mentions it


class Run(NamedTuple):
    """A fit with its name on the page, and its network and state of training, if known.

    For a fit read from a log, `histograms`, `environment` and `last` are the logged parameters,
    environment and last evaluation. `ended` says whether it is over, and `last_line` when the log
    was last written to.
    """

    name: str
    history: "History"
    conf: "Conf | None" = None
    state: "TrainState | None" = None
    histograms: "list[dict[str, Any]]" = []
    environment: "list[tuple[str, str]]" = []
    last: "RecordedEvaluation | None" = None
    ended: bool = True
    last_line: "datetime | None" = None

    @classmethod
    def of(cls, name, history, network=None):
        """Returns the Run of a fit of a Network, or of an unknown one."""
        if network is None:
            return cls(name, history)
        return cls(name, history, network.conf, network.state)

    @property
    def ending(self):
        """Describes what has ended the fit.

        For a log without an end, this is the time since its last line, if longer than QUIET: the
        fit was killed, or a round takes that long.
        """
        if self.ended or self.history.end_reason:
            return self.history.end_reason or "its epochs"
        if self.last_line is not None and (silence := datetime.now(UTC) - self.last_line) >= QUIET:
            last = self.last_line.strftime("%Y-%m-%d %H:%M:%S UTC")
            return f"no line for {silence // timedelta(minutes=1):,} minutes; last at {last}"
        return "still running" if self.history.phases else "it has not begun"

    @property
    def evaluation(self):
        """The last Evaluation of the fit, or None."""
        if self.last is not None:
            return self.last
        reports = [*self.history.epochs, *self.history.validations]
        found = [each.validation for each in reports if each.validation is not None]
        return found[-1] if found else None
