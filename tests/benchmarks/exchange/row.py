"""A row of the report: a measurement's result, figures compared with it, and their bars."""

from dataclasses import dataclass, field
from statistics import median

WIDTHS = (44, 16)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A figure that must reach a bound, or is reported only.

    Parameters
    ----------
    what : str
        What it is compared with.
    value : float or None
        None if there is nothing to compare with.
    bound : float or None
        None if reported only.
    most : bool
        Whether the bound is a maximum rather than a minimum.
    unit : str
    """

    what: str
    value: float | None
    bound: float | None = None
    most: bool = False
    unit: str = "x"

    @property
    def missed(self):
        """Whether the bound is missed; true also if nothing was measured."""
        if self.bound is None:
            return False
        if self.value is None:
            return True
        return self.value > self.bound if self.most else self.value < self.bound

    def __str__(self):
        text = "-" if self.value is None else f"{self.value:.3g}{self.unit}"
        if self.bound is None:
            return f"{self.what} {text}"
        side = "at most" if self.most else "at least"
        mark = "MISSED " * self.missed
        return f"{self.what} {text} ({mark}bar: {side} {self.bound:g}{self.unit})"


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result of one measurement.

    Parameters
    ----------
    title, ours : str
        The title of the measurement, and our figure.
    bars : sequence of Bar
    notes : sequence of str
        Lines printed below it.
    figures : dict
        All figures, serializable to JSON.
    """

    title: str
    ours: str
    bars: tuple[Bar, ...] = ()
    notes: tuple[str, ...] = ()
    figures: dict = field(default_factory=dict)

    def __str__(self):
        cells = [cell.ljust(width) for cell, width in zip((self.title, self.ours), WIDTHS)]
        head = " ".join([*cells, "; ".join(map(str, self.bars))]).rstrip()
        return "\n".join([head, *(f"    {note}" for note in self.notes)])


def ratio(found, name, ours):
    """Returns the median over rounds of a side's figure to ours, or None if either is missing."""
    if ours not in found or name not in found:
        return None
    return median(theirs / own for theirs, own in zip(found[name], found[ours], strict=True))


def best(found, names):
    """Returns the name in `names` with the lowest median, or None."""
    there = [name for name in names if name in found]
    return min(there, key=lambda name: median(found[name]), default=None)


def duration(seconds):
    """Returns three significant digits with a unit."""
    for scale, unit in ((1, "s"), (1e3, "ms")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
