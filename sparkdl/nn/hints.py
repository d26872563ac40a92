"""Type aliases for the arguments and results of layers, losses and optimizers."""

from typing import Any, TypeAlias

Shape: TypeAlias = tuple[int, ...]
Shapes: TypeAlias = dict[str, Shape]
Value: TypeAlias = Any  # an array or a Tensor of a graph: operations accept both
Values: TypeAlias = dict[str, Any]
