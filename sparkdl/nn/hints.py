"""Names for what layers, losses and optimizers are handed and give back."""

from typing import Any, TypeAlias

Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = dict[str, Shape]
Value: TypeAlias = Any  # an array, or a Tensor of a graph: operations take both
Values: TypeAlias = dict[str, Any]
