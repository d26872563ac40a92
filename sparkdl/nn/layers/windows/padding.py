"""Constraints on the amounts added or removed at both ends of each axis."""

from dataclasses import dataclass
from typing import Any

from sparkdl.config import Requirement, Sequence, Size, Sizes
from sparkdl.errors import ConfigError

NOT_NEGATIVE = Size(minimum=0)
PAIR = Sequence(of=NOT_NEGATIVE, length=2)
WAYS = {
    1: ("an integer >= 0", "(before, after)"),
    2: ("an integer >= 0", "a pair of them", "((top, bottom), (left, right))"),
    3: ("an integer >= 0", "three of them", "three (before, after)"),
}


@dataclass(frozen=True, kw_only=True)
class Amounts(Sizes):
    """A number for all ends, one per axis for both ends, or (before, after) per axis.

    For a single axis it is a number or one pair (before, after).
    """

    of: Requirement = NOT_NEGATIVE

    @property
    def phrase(self) -> str:
        *others, last = WAYS[self.axes]
        return f"{', '.join(others)} or {last}"

    @property
    def plural(self) -> str:
        return f"amounts ({self.phrase} each)"

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, list | tuple):
            return self.check_by(self.of, value, where)
        in_pairs = self.axes > 1 and any(isinstance(item, list | tuple) for item in value)
        ends = Sequence(of=PAIR if in_pairs else self.of, length=max(self.axes, 2))
        try:
            return ends.check(value, where)
        except ConfigError:
            self.refuse(value, where)


@dataclass(frozen=True, kw_only=True)
class Padding(Amounts):
    """Amounts, or the word "same".

    Parameters
    ----------
    causal : bool
        Whether "causal" is allowed for a single axis.
    """

    causal: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words for amounts that depend on the input length."""
        return ("same", "causal") if self.causal and self.axes == 1 else ("same",)

    @property
    def phrase(self) -> str:
        return f"{', '.join(WAYS[self.axes])}, or {' or '.join(map(repr, self.words))}"

    def check(self, value: Any, where: str) -> Any:
        return str(value) if is_in(value, self.words) else super().check(value, where)


def is_in(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words
