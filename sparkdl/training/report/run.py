"""A fit that a page shows."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sparkdl.nn.networks.base import Conf
    from sparkdl.training.reporting.history import History
    from sparkdl.training.saving.state import TrainState


class Run(NamedTuple):
    """A fit with its name on the page, and the network and state of training, if they are known."""

    name: str
    history: "History"
    conf: "Conf | None" = None
    state: "TrainState | None" = None

    @classmethod
    def of(cls, name, history, network=None):
        """Returns the Run of a fit of a Network, or of an unknown one."""
        if network is None:
            return cls(name, history)
        return cls(name, history, network.conf, network.state)

    @property
    def evaluation(self):
        """The last Evaluation of the fit, or None."""
        reports = [*self.history.epochs, *self.history.validations]
        found = [each.validation for each in reports if each.validation is not None]
        return found[-1] if found else None
