"""Normalization with batch statistics."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, Choice, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.channels import channels_of
from sparkdl.nn.layers.core.masks import mask_over
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run

LEAST = 1e-30  # a smaller weight is 0, and so are all sums then


@dataclass(frozen=True, kw_only=True)
class BatchNorm(TrainableLayer):
    """y = gamma (x - mean) / sqrt(variance + epsilon) + beta, per channel or feature.

    In training, mean and (biased) variance are those of the batch, and buffers track them: running
    <- momentum running + (1 - momentum) batch. Inference uses the buffers. Masked steps do not
    count; a batch without any step leaves the buffers unchanged.

    Shapes
    ------
    x, y (batch, C), (batch, C, H, W), (batch, C, D, H, W) or sequences (batch, T, C); gamma, beta,
    mean, variance (C,); weight (1,)

    References
    ----------
    Ioffe and Szegedy, Batch normalization (2015), algorithm 1.
    """

    biases: ClassVar[tuple[str, ...]] = ("beta",)
    low_precision: ClassVar = True

    momentum: float = option(
        Number(minimum=0, below=1),
        "Share of the old running value kept at each batch; PyTorch's is 1 minus this.",
        default=0.9,
    )
    epsilon: float = option(Number(above=0), "Number added to the variance.", default=1e-5)
    scale: bool = option(
        Boolean(), "Whether to scale by a gamma. Caffe's BatchNorm has none.", default=True
    )
    shift: bool = option(
        Boolean(), "Whether to add a beta. Caffe's BatchNorm has none.", default=True
    )
    variance: str = option(
        Choice(of=("biased", "unbiased")),
        'Variance that the buffer tracks: "biased" (Keras, DL4J) or "unbiased" (PyTorch, Caffe), '
        "which is n / (n - 1) times as large.",
        default="biased",
    )
    debias: bool = option(
        Boolean(),
        "Whether the buffers start from nothing and are divided by the weight of what they have "
        "seen, as Caffe's three blobs are: running <- momentum running + batch, weight <- "
        "momentum weight + 1. They are right from the first batch on; otherwise they move away "
        "from 0 and 1.",
        default=False,
    )

    def channels(self, in_shape: Shape) -> Shape:
        """(C,)"""
        if len(in_shape) not in (1, 2, 3, 4):
            raise ShapeError(
                "BatchNorm takes rows (n,), sequences (steps, n), images (channels, height, width) "
                f"or volumes (channels, depth, height, width), got {in_shape}"
            )
        return channels_of(in_shape)

    def out_shape(self, in_shape: Shape) -> Shape:
        self.channels(in_shape)
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        flags = {"gamma": self.scale, "beta": self.shift}
        return {name: self.channels(in_shape) for name, flag in flags.items() if flag}

    def buffer_shapes(self, in_shape: Shape) -> Shapes:
        shapes = dict.fromkeys(("mean", "variance"), self.channels(in_shape))
        return shapes | ({"weight": (1,)} if self.debias else {})

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        ones = name == "gamma" or (name == "variance" and not self.debias)
        return np.ones(shape) if ones else np.zeros(shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        rows = ops.reshape(x, (-1, x.shape[-1])) if len(x.shape) == 3 else x
        count, dtype = rows.shape[1], computing_dtype(x.dtype)
        gamma = params["gamma"] if self.scale else np.ones(count, dtype)
        beta = params["beta"] if self.shift else np.zeros(count, dtype)
        if not run.training:
            y = ops.normalize(rows, gamma, beta, *self.statistics(run), self.epsilon)
        elif (mask := mask_over_rows(x, run.mask)) is None:
            y, mean, variance = ops.batch_norm(rows, gamma, beta, self.epsilon)
            number = prod(rows.shape) // count
            self.follow(run, mean, variance, number / max(number - 1, 1))
        else:
            mean, variance, number = masked_statistics(rows, mask)
            y = ops.normalize(rows, gamma, beta, mean, variance, self.epsilon)
            unbiased = number / ops.maximum(number - 1, 1.0)
            self.follow(run, mean, variance, unbiased, ops.greater(number, 0.0))
        return ops.reshape(y, x.shape)

    def statistics(self, run: Run) -> tuple[Value, Value]:
        """Returns (mean, variance) of what the buffers have seen.

        With nothing seen zeros, as in Caffe.
        """
        statistics = run.buffers["mean"], run.buffers["variance"]
        if not self.debias:
            return statistics
        share = ops.div(1.0, ops.maximum(run.buffers["weight"], LEAST))
        return ops.mul(statistics[0], share), ops.mul(statistics[1], share)

    def follow(
        self, run: Run, mean: Value, variance: Value, widening: Value, seen: Value = None
    ) -> None:
        """Moves the buffers towards statistics; `widening` makes the variance unbiased.

        Where `seen`, (C,) or (1,), is given and 0 they stay.
        """
        if self.variance == "unbiased":
            variance = variance * widening
        share = 1.0 if self.debias else 1 - self.momentum
        news = {"mean": mean, "variance": variance} | ({"weight": 1.0} if self.debias else {})
        for name, new in news.items():
            old = run.buffers[name]
            moved = self.momentum * old + share * new
            if seen is not None:
                there = ops.max(seen, 0, keepdims=True) if name == "weight" else seen
                moved = ops.where(there, moved, old)
            run.update(name, moved)


def mask_over_rows(x: Value, mask: Value) -> Value:
    """Returns 1 for what counts: (n, 1) of rows or steps, (n, C, H, W) of images; None: all of it.

    A mask of steps (batch, T) says nothing of images (batch, T, H, W) that they have become, as
    one of images in TimeDistributed, (batch, C, H), does.
    """
    there = mask_over(x, mask)
    if there is None or len(x.shape) > 3:
        return there if there is None else ops.broadcast_to(there, x.shape)
    return ops.reshape(there, (-1, 1))


def masked_statistics(x: Value, mask: Value) -> tuple[Value, Value, Value]:
    """Returns (mean, variance, count) of each channel, axis 1 of x, over the places of mask 1."""
    axes = tuple(axis for axis in range(len(x.shape)) if axis != 1)
    x = ops.cast(x, computing_dtype(x.dtype))
    count = ops.sum(mask, axes)
    divisor = ops.maximum(count, 1.0)
    mean = ops.div(ops.sum(ops.where(mask, x, 0.0), axes), divisor)
    away = ops.sub(x, ops.reshape(mean, (-1, *(1 for _ in axes[1:]))))
    variance = ops.div(ops.sum(ops.where(mask, ops.square(away), 0.0), axes), divisor)
    return mean, variance, count
