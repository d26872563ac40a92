"""Learned numbers that depend on no input."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Of, Sequence, Size, dataclass, option
from sparkdl.config.field_types import AnyOf, Several
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers.arithmetic.affine import Factors
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Learned(Factors):
    """A learned array W, the same for each example of the input's batch. Caffe's Parameter.

    Shapes
    ------
    x (batch, ...), y (batch, *shape), W shape
    """

    penalized_by_layer: ClassVar[tuple[str, ...]] = ("W",)

    shape: Several[int] = option(Sequence(of=Size(minimum=1), minimum=1), "Shape of W.")
    initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of W.", default="zeros"
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"W": self.shape}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.initializer.draw(shape, (1, 1), rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.broadcast_to(
            ops.reshape(params["W"], (1, *self.shape)), (x.shape[0], *self.shape)
        )
