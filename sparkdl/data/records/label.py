"""Kind and shape of the labels of one output."""

import math
from dataclasses import dataclass, field

from sparkdl.config import is_integer
from sparkdl.data.records.label_range import LabelRange
from sparkdl.errors import require

KINDS = ("class", "values")


@dataclass(frozen=True, kw_only=True)
class Label:
    """Kind and shape of one example's label.

    Parameters
    ----------
    kind : str
        "class": whole numbers in [0, size), stored as int32. "values": numbers, stored as float32.
    size : int
        Number of classes, or of values.
    shape : tuple of int or None
        Shape of an example's label, such as (T,) for a class per step. None: () for a class,
        (size,) for values. A size of None is free, as a transform crops or resizes labels.
    ignored : int or None
        A label outside the range that is also allowed, and ignored by the loss.
    one_hot : bool
        Whether values are one-hot or class probabilities, so that labels may also be given as class
        numbers.
    ranges : tuple of LabelRange
        What the losses of the label take. Labels that differ only in this are stored alike, so they
        are equal.
    """

    kind: str
    size: int = 1
    shape: tuple[int, ...] | None = None
    ignored: int | None = None
    one_hot: bool = False
    ranges: tuple[LabelRange, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        require(self, "kind", self.kind in KINDS, f"one of {KINDS}")
        require(self, "size", is_integer(self.size, 1), "an integer >= 1")
        if self.shape is None:
            object.__setattr__(self, "shape", () if self.kind == "class" else (self.size,))
        object.__setattr__(self, "shape", tuple(self.shape))
        sound = all(n is None or is_integer(n, 1) for n in self.shape)
        require(self, "shape", sound, "a shape of integers >= 1")

    @property
    def are_shares(self) -> bool:
        """Whether values are in [0, 1]: no, yes, or the probability of yes."""
        return any(one.are_shares for one in self.ranges)

    @property
    def one_hot_size(self):
        """Number of values in a one-hot label, None if the kind is "values"."""
        return math.prod(n or 1 for n in self.shape) * self.size if self.kind == "class" else None
