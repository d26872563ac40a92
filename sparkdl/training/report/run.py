"""A fit that a page shows."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sparkdl.training.network import Network
    from sparkdl.training.reporting.history import History


class Run(NamedTuple):
    """A fit with its name on the page, and the network that was trained, if it is at hand."""

    name: str
    history: "History"
    network: "Network | None" = None

    @property
    def evaluation(self):
        """The last Evaluation of the fit, or None."""
        reports = [*self.history.epochs, *self.history.validations]
        found = [each.validation for each in reports if each.validation is not None]
        return found[-1] if found else None
