"""Kind and shape of the labels of one output."""

import math
from dataclasses import dataclass

from sparkdl.config import is_integer
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
        Of the label of an example: (T,) for a class a step. None: () for a class, (size,) for
        values.
    ignored : int or None
        A class outside the range that is allowed too: the loss does not count it.
    one_hot : bool
        Whether values are 1 at a class and 0 elsewhere, or its probabilities, so that the number
        of a class stands for them.
    """

    kind: str
    size: int = 1
    shape: tuple[int, ...] | None = None
    ignored: int | None = None
    one_hot: bool = False

    def __post_init__(self) -> None:
        require(self, "kind", self.kind in KINDS, f"one of {KINDS}")
        require(self, "size", is_integer(self.size, 1), "an integer >= 1")
        if self.shape is None:
            object.__setattr__(self, "shape", () if self.kind == "class" else (self.size,))
        object.__setattr__(self, "shape", tuple(self.shape))
        require(
            self, "shape", all(is_integer(n, 1) for n in self.shape), "a shape of integers >= 1"
        )

    @property
    def one_hot_size(self):
        """Numbers of a label whose classes come as one-hot vectors, None for values."""
        return math.prod(self.shape) * self.size if self.kind == "class" else None
