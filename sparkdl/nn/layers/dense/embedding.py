"""Rows of a learned table, looked up by index."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer

EXACT = 2**24  # integers up to it are exact in float32


@dataclass(frozen=True, kw_only=True)
class Lookup(ActivatedLayer, abstract=True):
    """activation(W[i] + b) for each index i.

    Indices arrive as features. float32 represents integers exactly up to 2^24, so W has no more
    rows; EmbeddingBags take larger ids. Records with an index outside W are refused when they are
    read. Values computed by a layer or transform are truncated to integers, and an index outside W
    raises DataError when the batch is run.
    """

    ends_in_activation: ClassVar = True

    vocabulary_size: int = option(Size(minimum=1), "Number of indices, 0 to vocabulary_size - 1.")
    units: int = option(Size(minimum=1), "Size of the embedding of an index.")
    bias: bool = False

    def validate(self) -> None:
        super().validate()
        exact = self.vocabulary_size <= EXACT
        words = f"at most 2^24 ({EXACT}), as indices are float32"
        require(self, "vocabulary_size", exact, words, "an EmbeddingBag keeps ids as integers")

    def weight_shape(self, in_shape: Shape) -> Shape:
        return (self.vocabulary_size, self.units)

    def fans(self, shape: Shape) -> Shape:
        return shape

    def outputs(self) -> int:
        return self.units

    def rows_of(self, params: Values, indices: Value) -> Value:
        """Returns the output for an array of indices."""
        y = ops.gather(params["W"], ops.cast(indices, np.int32))
        return self.activate(ops.add_bias(y, params["b"]) if self.bias else y)


@dataclass(frozen=True, kw_only=True)
class Embedding(Lookup):
    """y = activation(W[x] + b): a row of a learned table for one index per example.

    Shapes
    ------
    x (batch, 1) or (batch,) whole numbers, y (batch, units), W (vocabulary_size, units),
    b (units,)

    References
    ----------
    DL4J EmbeddingLayer; Caffe Embed has a bias unless told otherwise.
    """

    def out_shape(self, in_shape: Shape) -> Shape:
        if in_shape not in ((), (1,)):
            raise ShapeError(
                f"Embedding takes one index per example, got {in_shape}; "
                "EmbeddingSequence takes several"
            )
        return (self.units,)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.rows_of(params, ops.reshape(x, (x.shape[0],)))


@dataclass(frozen=True, kw_only=True)
class EmbeddingSequence(Lookup):
    """y[t] = activation(W[x[t]] + b): a row of a learned table for each step of a sequence.

    Shapes
    ------
    x (batch, T) or (batch, T, 1) whole numbers, y (batch, T, units), W (vocabulary_size, units),
    b (units,)

    References
    ----------
    DL4J EmbeddingSequenceLayer, Keras Embedding.
    """

    reads_ids_of_steps: ClassVar = True

    padding_id: int | None = option(
        Size(minimum=0),
        "Index of padding: later layers mask such steps; 0 is Keras's mask_zero. A mask of the "
        "input applies as well. None: no index is padding.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        there = self.padding_id is None or self.padding_id < self.vocabulary_size
        require(self, "padding_id", there, f"below vocabulary_size ({self.vocabulary_size})")

    def out_shape(self, in_shape: Shape) -> Shape:
        if len(in_shape) not in (1, 2) or in_shape[1:] not in ((), (1,)):
            raise ShapeError(
                f"EmbeddingSequence takes one index per step (steps,) or (steps, 1), got {in_shape}"
            )
        return (in_shape[0], self.units)

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        return mask

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x = ops.reshape(x, x.shape[:2])
        if self.padding_id is not None:
            mask = ops.greater(ops.abs(ops.sub(x, self.padding_id)), 0.5)
            run.mask_output(mask if run.mask is None else ops.mul(mask, run.mask))
        return self.rows_of(params, x)
