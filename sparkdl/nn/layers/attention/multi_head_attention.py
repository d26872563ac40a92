"""Attention from one sequence to another."""

from typing import Any, ClassVar

from sparkdl.config import dataclass
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.attention.base import Attention
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class MultiHeadAttention(Attention):
    """Attention: softmax(Q K^T / sqrt(d)) V in each head, from the first input to the second.

    Inputs are queries, keys and values. Without a third the keys are the values as well (cross
    attention); with a single input it is self-attention.

    Shapes
    ------
    x (batch, T, F), (batch, S, G), (batch, S, U); y (batch, T, units); Wq (F, H d), Wk (G, H d),
    Wv (U, H d), Wo (H d, units)

    References
    ----------
    DL4J AttentionVertex, Keras MultiHeadAttention, PyTorch MultiheadAttention, which calls H d
    embed_dim.
    """

    multi_input: ClassVar = True

    def out_shape(self, in_shape: Any) -> Shape:
        queries, keys, values = fill_inputs(in_shape)
        for shape in in_shape:
            self.sequence(shape)
        if keys[0] != values[0]:
            raise ShapeError(
                f"MultiHeadAttention needs a value for each key of {keys}, got {values}"
            )
        self.check_steps(queries, keys)
        self.width(queries)
        return (queries[0], self.units or queries[1])

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return mask[0]

    def param_shapes(self, in_shape: Any) -> Shapes:
        return self.projections(*fill_inputs(in_shape))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        mask = fill_inputs(run.masks)[1] if run.masks else None
        return self.attend(params, *fill_inputs(x), mask, run)


def fill_inputs(inputs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Returns (queries, keys, values), given one to three inputs."""
    if not 1 <= len(inputs) <= 3:
        raise ShapeError(f"MultiHeadAttention takes one to three inputs, got {len(inputs)}")
    queries, keys, values = (*inputs, *inputs[-1:] * (3 - len(inputs)))
    return queries, keys, values
