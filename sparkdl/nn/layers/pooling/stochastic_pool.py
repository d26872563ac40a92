"""Stochastic pooling: a number drawn from each window with probability proportional to its size."""

from math import prod
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.engine.ops.reduce import equal
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.pooling.base import Pool

TINY = 1e-30  # far below any drawn number, yet not 0 to any kernel


@dataclass(frozen=True, kw_only=True)
class StochasticPool2D(Pool):
    """Draws one number of each window in training, and takes a weighted mean at inference.

    Probabilities and weights are proportional to the numbers, which must be >= 0; padding is never
    drawn.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W')

    References
    ----------
    Zeiler and Fergus, Stochastic pooling for regularization of deep convolutional neural networks
    (2013). Caffe's pooling STOCHASTIC. Drawn as the largest of log x - log(-log u).
    """

    low_precision: ClassVar = False
    axes: ClassVar = 2

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        channels, space = x.shape[1], tuple(x.shape[2:])
        places = self.places(space)
        options = self.sizes("size"), self.step, self.padding_of(space), self.sizes("dilation")
        windows = ops.unfold(x, *options)
        windows = ops.reshape(windows, (x.shape[0], channels, prod(options[0]), prod(places)))
        y = self.draw(windows, run) if run.training else self.average(windows)
        return ops.reshape(y, (x.shape[0], channels, *places))

    def draw(self, windows: Value, run: Run) -> Value:
        """Draws one number of each window of seen (N, C, window, places): (N, C, places)."""
        u = ops.maximum(run.uniform(windows.shape[1:]), TINY)
        noise = ops.neg(ops.log(ops.maximum(ops.neg(ops.log(u)), TINY)))
        score = ops.stop_gradient(ops.add(ops.log(ops.maximum(windows, TINY)), noise))
        best = ops.broadcast_to(ops.max(score, (2,), keepdims=True), score.shape)
        return ops.sum(ops.where(equal(score, best), windows, 0.0), (2,))

    def average(self, windows: Value) -> Value:
        total = ops.maximum(ops.sum(windows, (2,)), TINY)
        return ops.div(ops.sum(ops.square(windows), (2,)), total)
