"""The numbers that a loss takes as labels; from others it learns nothing, or has no lower bound."""

import math
from dataclasses import dataclass

from sparkdl.data.batches.columns import NUMBERING, STANDS_FOR_NONE

ROUNDING = 1e-5  # of labels that another network has computed
OTHER_LOSSES = "other numbers have losses such as mse"
CURES = {
    "in [0, 1]": f"{NUMBERING}; {OTHER_LOSSES}",
    "-1 or 1": "2 y - 1 makes them of 0 and 1",
    "at least 0": OTHER_LOSSES,
}
BYTE = 255.0  # stands for 1 in a mask that is an image


@dataclass(frozen=True)
class LabelRange:
    """Range of the labels of a loss.

    Parameters
    ----------
    loss : str
        Its name.
    low, high : float
    has_between : bool
        Whether numbers between the two are labels, too.
    may_ignore : bool
        Whether the loss has an ignore_label for numbers.
    """

    loss: str
    low: float
    high: float = math.inf
    has_between: bool = True
    may_ignore: bool = False

    @property
    def constraint(self) -> str:
        """What labels must be, in words."""
        if not self.has_between:
            return f"{self.low:g} or {self.high:g}"
        if math.isinf(self.high):
            return f"at least {self.low:g}"
        return f"in [{self.low:g}, {self.high:g}]"

    @property
    def are_shares(self) -> bool:
        """Whether labels are no, yes, or the probability of yes."""
        return (self.low, self.high) == (0, 1)

    def error(self, labels: str, values: list[float]) -> str | None:
        """Returns the error of labels whose smallest and largest are `values`, or None."""
        if all(map(self._allows, values)):
            return None
        cure = CURES[self.constraint]
        if self.are_shares and (values[0], values[-1]) == (0, BYTE):
            cure = f"Scale(factor=1 / 255, column=...) makes 1 of {BYTE:g} in images"
        elif self.may_ignore:
            cure = f"{cure}; {STANDS_FOR_NONE}"
        got = f"{values[0] + 0.0:g} to {values[-1] + 0.0:g}"  # -0.0 as 0
        return f"{labels} of {self.loss} must be {self.constraint}, got {got}; {cure}"

    def _allows(self, value: float) -> bool:
        if self.has_between:
            return self.low - ROUNDING <= value <= self.high + ROUNDING
        return min(abs(value - self.low), abs(value - self.high)) <= ROUNDING
