"""An output layer that also draws the features of a class together."""

from typing import Any

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.output import Output


@dataclass(frozen=True, kw_only=True)
class CenterLossOutput(Output):
    """An Output that adds center_weight |x - c|^2 / 2, with c the center of the example's class.

    The centers are buffers. In training, the center of each class in a batch moves towards its
    examples: c <- c - center_rate (sum of (c - x) over the class) / (1 + their number). Examples
    whose label the loss ignores do not count.

    Shapes
    ------
    x (batch, n_in), z (batch, units), W (n_in, units), b (units,), centers (units, n_in)

    References
    ----------
    Wen, Zhang, Li and Qiao, A discriminative feature learning approach for deep face recognition
    (2016), eq. 2 to 4. The defaults are those of DL4J's CenterLossOutputLayer.
    """

    center_weight: float = option(
        Number(minimum=0),
        "Weight of the distance to the center in the loss; DL4J's lambda.",
        default=2e-4,
    )
    center_rate: float = option(
        Number(minimum=0, maximum=1),
        "Share of the way to its examples that a center moves; DL4J's alpha.",
        default=0.05,
    )

    def validate(self) -> None:
        super().validate()
        loss: Any = self.loss
        require(self, "loss", loss.predicts == "class", "a loss of classes")

    def rows(self, in_shape: Shape) -> Shape:
        if len(in_shape) != 1:
            raise ShapeError(f"CenterLossOutput takes rows of features (n,), got {in_shape}")
        return in_shape

    def buffer_shapes(self, in_shape: Shape) -> Shapes:
        return {"centers": (self.units, *self.rows(in_shape))}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(shape) if name == "centers" else super().initial(name, shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        if run.training and run.labels is not None:
            self.compare(x, run)
        return super().forward(params, x, run)

    def compare(self, x: Value, run: Run) -> None:
        """Adds the distance to the centers to the loss, and moves the centers."""
        centers, at = run.buffers["centers"], self.classes_of(run.labels, x)
        loss: Any = self.loss
        counts = loss.counts(run.labels)
        if counts is not None:
            counts = ops.reshape(ops.cast(counts, x.dtype), (-1, 1))
            at = ops.mul(at, counts)
        away = ops.sub(x, ops.matmul(at, centers))
        away = away if counts is None else ops.mul(away, counts)
        square = ops.sum(ops.square(away), axes=(1,))
        run.add_loss(ops.mul(square, self.center_weight / 2))
        size = ops.add(ops.sum(at, axes=(0,)), 1.0)
        pull = ops.div(ops.matmul(at, away, True), ops.reshape(size, (self.units, 1)))
        run.update("centers", ops.add(centers, ops.mul(pull, self.center_rate)))

    def classes_of(self, labels: Value, x: Value) -> Value:
        """Returns (batch, units) with 1 at the class of each example."""
        if self.label_kind == "class":
            return ops.one_hot(labels, self.units, x.dtype)
        return labels
