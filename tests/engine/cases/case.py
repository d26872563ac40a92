"""A row of the tables of operations."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """`op` on float64 `arrays` gives what `like` gives on them, and has `order` derivatives."""

    op: Any
    arrays: tuple
    like: Any = None
    order: int = 2
