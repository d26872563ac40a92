"""A row of the tables of operations."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """`op` equals `like` on float64 `arrays` and is differentiable `order` times."""

    op: Any
    arrays: tuple
    like: Any = None
    order: int = 2
