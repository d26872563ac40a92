"""A fit that a page shows."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.training.report.recorded_evaluation import RecordedEvaluation
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState


class Run(NamedTuple):
    """A fit with its name on the page, and the network and state of training, if they are known.

    Of a fit that a log tells of, `histograms`, `environment` and `last` are what the log holds of
    its parameters, where it ran, and its last evaluation. `ended` says whether it is over.
    """

    name: str
    history: "History"
    conf: "Conf | None" = None
    state: "TrainState | None" = None
    histograms: "list[dict[str, Any]]" = []
    environment: "list[tuple[str, str]]" = []
    last: "RecordedEvaluation | None" = None
    ended: bool = True

    @classmethod
    def of(cls, name, history, network=None):
        """Returns the Run of a fit of a Network, or of an unknown one."""
        if network is None:
            return cls(name, history)
        return cls(name, history, network.conf, network.state)

    @property
    def ending(self):
        """What has ended the fit, in words."""
        if self.ended or self.history.end_reason:
            return self.history.end_reason or "its epochs"
        return "still running" if self.history.phases else "it has not begun"

    @property
    def evaluation(self):
        """The last Evaluation of the fit, or None."""
        if self.last is not None:
            return self.last
        reports = [*self.history.epochs, *self.history.validations]
        found = [each.validation for each in reports if each.validation is not None]
        return found[-1] if found else None
