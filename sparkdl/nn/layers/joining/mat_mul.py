"""The matrix product of two inputs."""

from typing import Any, ClassVar

from sparkdl.config import Boolean, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


@dataclass(frozen=True, kw_only=True)
class MatMul(JoiningLayer):
    """The matrix product a b along the last two axes, as in attention. Masks are ignored.

    Shapes
    ------
    a (batch, ..., M, K), b (batch, ..., K, N), y (batch, ..., M, N)

    References
    ----------
    ONNX MatMul, Keras Dot, torch.matmul; none of them broadcasts here.
    """

    low_precision: ClassVar = True

    transpose_a: bool = option(Boolean(), "Whether a is (..., K, M).", default=False)
    transpose_b: bool = option(Boolean(), "Whether b is (..., N, K).", default=False)

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) != 2 or any(len(shape) < 2 for shape in in_shape):
            raise ShapeError(f"MatMul needs two inputs that are matrices, got {in_shape}")
        a, b = in_shape
        rows, inner = a[:-3:-1] if self.transpose_a else a[-2:]
        inner_b, columns = b[:-3:-1] if self.transpose_b else b[-2:]
        if (a[:-2], inner) != (b[:-2], inner_b):
            raise ShapeError(f"MatMul needs matrices whose inner lengths are equal, got {in_shape}")
        return (*a[:-2], rows, columns)

    def mixes_steps(self, in_shape: Any) -> bool:
        return self.transpose_a and len(in_shape[0]) == 2

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        """Returns the mask of a, whose steps are those of y."""
        moved = self.transpose_a and mask[0] is not None and len(mask[0].shape) == len(in_shape[0])
        return None if moved else mask[0]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        a, b = x
        return ops.matmul(a, b, transpose_x=self.transpose_a, transpose_y=self.transpose_b)
