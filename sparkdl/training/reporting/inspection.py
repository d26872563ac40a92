"""Observations of a network's layers on a sample of records during a fit."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self


class ArrayFigures(NamedTuple):
    """Mean magnitudes of one array of parameters.

    Parameters
    ----------
    parameter, gradient, update : float
        The means of |parameter|, of |gradient|, and of |the step that the optimizer takes with it|.
    """

    parameter: float
    gradient: float
    update: float

    @property
    def ratio(self) -> float | None:
        """log10(update / parameter): about -3 is usual; None where one of them is 0."""
        sound = 0 < self.parameter < math.inf and 0 < self.update < math.inf
        return math.log10(self.update / self.parameter) if sound else None


@dataclass(frozen=True, kw_only=True)
class LayerReport:
    """The layers of a network after a number of updates.

    Parameters
    ----------
    iteration, epoch : int
        Updates per replica until then, and the epoch, from 0.
    arrays : {"layer/array": ArrayFigures}
    dead : {layer: (dead units, units)}
        Dead units of rectifiers: units that are 0 for all records of the sample.
    """

    iteration: int
    epoch: int
    arrays: dict[str, ArrayFigures]
    dead: dict[str, tuple[int, int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain lists and numbers, as JSON has them."""
        return asdict(self) | {"arrays": {name: [*row] for name, row in self.arrays.items()}}


@dataclass(frozen=True, kw_only=True)
class WrongExample:
    """An example with a large loss.

    Parameters
    ----------
    number : int
        For an Inspector, its place in the sample, from 0; for an Evaluation, the record's id.
    loss : float
    truth, prediction : str
        Its label and the network's prediction, as text.
    text : str
        The example as text; empty if there is an image.
    image : str
        The example as the data URI of a PNG; empty if it is not an image.
    """

    number: int
    loss: float
    truth: str
    prediction: str
    text: str = ""
    image: str = ""


@dataclass(kw_only=True)
class Inspection:
    """Results of an Inspector.

    Parameters
    ----------
    examples, batch_size : int
        Size of the sample, and number of examples from which the layers' figures are computed.
    layers : list of LayerReport
        In the order of updates.
    costs : list of LayerCost
        What each layer costs in a step of `batch_size` examples on the driver's processor.
    gradients, updates : list of histograms
        Of each array, after the last of `layers`.
    wrong : list of WrongExample
        The largest losses at the end of the fit, the largest first.
    """

    examples: int = 0
    batch_size: int = 0
    layers: list[LayerReport] = field(default_factory=list)
    costs: list[Any] = field(default_factory=list)
    gradients: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[WrongExample] = field(default_factory=list)

    def add(self, report: LayerReport) -> None:
        """Adds a report, replacing those of as many or more updates, whose rounds were lost."""
        while self.layers and self.layers[-1].iteration >= report.iteration:
            self.layers.pop()
        self.layers.append(report)

    def after(self, earlier: "Inspection | None") -> Self:
        """Returns this Inspection with the layers of an earlier part of the fit before its own."""
        own, self.layers = self.layers, [] if earlier is None else list(earlier.layers)
        for report in own:
            self.add(report)
        return self
