"""Pooling of each channel to one number."""

from typing import ClassVar

from sparkdl.config import Choice, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.engine.ops.spatial.pool import norm_of
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import LOWEST, fill_padding
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class GlobalPool(Layer):
    """The mean, largest, sum or p-norm of each feature over the steps of a sequence, or of each
    channel over an image or volume.

    Shapes
    ------
    x (batch, T, F), (batch, C, H, W) or (batch, C, D, H, W); y (batch, F) or (batch, C). Steps that
    a mask leaves out do not count; a sequence without steps gives 0.
    """

    sees_other_steps: ClassVar = True

    kind: str = option(
        Choice(of=("avg", "max", "sum", "lp")), "Summary of all numbers.", default="avg"
    )
    p: float = option(Number(minimum=1), 'Exponent of the norm, with "lp".', default=2.0)

    @property
    def low_precision(self) -> bool:  # type: ignore[override]
        """Three digits of a power are few."""
        return self.kind != "lp"

    def out_shape(self, in_shape: Shape) -> Shape:
        if len(in_shape) not in (2, 3, 4):
            raise ShapeError(f"GlobalPool takes sequences, images or volumes, got {in_shape}")
        return in_shape[-1:] if len(in_shape) == 2 else in_shape[:1]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        axes = (1,) if len(x.shape) == 3 else tuple(range(2, len(x.shape)))
        mask = run.mask if len(x.shape) == 3 else None
        if mask is None:
            return self.over(x, axes)
        steps = ops.sum(mask, 1, keepdims=True)
        y = self.over(fill_padding(x, mask, LOWEST if self.kind == "max" else 0.0), axes)
        if self.kind == "avg":
            y = ops.mul(y, ops.div(float(x.shape[1]), ops.maximum(steps, 1.0)))
        return ops.where(steps, y, 0.0)

    def over(self, x: Value, axes: tuple[int, ...]) -> Value:
        """Returns x without these axes."""
        if self.kind == "lp":
            return norm_of(ops.sum(ops.power(ops.abs(x), self.p), axes), self.p)
        return {"avg": ops.mean, "max": ops.max, "sum": ops.sum}[self.kind](x, axes)
