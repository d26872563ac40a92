"""Random perturbations in training, none in inference."""

from math import sqrt
from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run

ALPHA_PRIME = -1.6732632423543772 * 1.0507009873554805  # the limit of selu at minus infinity


@dataclass(frozen=True, kw_only=True)
class Noise(Layer, abstract=True):
    """A layer that only acts in training.

    Its numbers depend on the seed, the layer, the example and the epoch alone, not on the batch or
    the worker of an example.
    """

    keeps_numbers: ClassVar = True

    def out_shape(self, in_shape: Shape) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.perturb(x, run) if run.training else x

    def perturb(self, x: Value, run: Run) -> Value:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DropoutNoise(Noise, abstract=True):
    """Noise whose strength is a rate."""

    rate: float = option(Number(minimum=0, below=1), "Dropout rate.", default=0.5)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return x if self.rate == 0 else super().forward(params, x, run)


@dataclass(frozen=True, kw_only=True)
class Zeroing(DropoutNoise, abstract=True):
    """Sets numbers to 0 with probability `rate`, and divides the others by 1 - rate."""

    low_precision: ClassVar = True

    def drawn_shape(self, shape: Shape) -> Shape:
        """Returns the shape of what is drawn for an example of this shape, to broadcast to it."""
        raise NotImplementedError

    def perturb(self, x: Value, run: Run) -> Value:
        dropped = ops.greater(self.rate, run.uniform(self.drawn_shape(x.shape[1:])))
        return ops.where(dropped, 0.0, ops.mul(x, 1 / (1 - self.rate)))


@dataclass(frozen=True, kw_only=True)
class SpatialDropout(Zeroing):
    """In training each channel becomes 0 with probability `rate`, else x / (1 - rate).

    Shapes
    ------
    x, y sequences (batch, T, F), of which whole features are dropped; images (batch, C, H, W);
    volumes (batch, C, D, H, W)

    References
    ----------
    Tompson et al., Efficient object localization using convolutional networks (2015), section 3.2.
    Keras SpatialDropout1D, 2D and 3D.
    """

    def out_shape(self, in_shape: Shape) -> Shape:
        if len(in_shape) not in (2, 3, 4):
            raise ShapeError(
                f"SpatialDropout takes sequences, images or volumes, got {in_shape}; "
                "Dropout takes rows"
            )
        return in_shape

    def drawn_shape(self, shape: Shape) -> Shape:
        return (1, shape[1]) if len(shape) == 2 else (shape[0], *[1] * (len(shape) - 1))


@dataclass(frozen=True, kw_only=True)
class AlphaDropout(DropoutNoise):
    """Dropout that keeps mean 0 and variance 1, for networks of selu.

    In training each number becomes alpha' = -1.7581 with probability `rate`, then all are scaled
    and shifted so that inputs with mean 0 and variance 1 keep them.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks (2017), section 2.
    """

    def perturb(self, x: Value, run: Run) -> Value:
        keep_rate = 1 - self.rate
        scale = 1 / sqrt(keep_rate + ALPHA_PRIME**2 * keep_rate * self.rate)
        offset = -scale * self.rate * ALPHA_PRIME
        dropped = ops.greater(self.rate, run.uniform(x.shape[1:]))
        return ops.add(ops.mul(ops.where(dropped, ALPHA_PRIME, x), scale), offset)


@dataclass(frozen=True, kw_only=True)
class GaussianDropout(DropoutNoise):
    """In training, multiplies x by normal noise with mean 1 and variance rate / (1 - rate).

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Srivastava et al., Dropout (2014), section 10.
    """

    rate: float = option(
        Number(minimum=0, below=1),
        "Dropout with this rate has the same variance.",
        default=0.5,
    )

    def perturb(self, x: Value, run: Run) -> Value:
        spread = sqrt(self.rate / (1 - self.rate))
        return ops.mul(x, ops.add(ops.mul(run.normal(x.shape[1:]), spread), 1.0))


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Noise):
    """In training, adds normal noise with mean 0 and standard deviation `std` to x.

    Shapes
    ------
    x, y (batch, ...), of one shape
    """

    std: float = option(Number(minimum=0), "Standard deviation of the noise.", default=0.1)

    def perturb(self, x: Value, run: Run) -> Value:
        return ops.add(x, ops.mul(run.normal(x.shape[1:]), self.std))


@dataclass(frozen=True, kw_only=True)
class RRelu(Noise):
    """x above 0, else slope x; the slope is uniform in [low, high) in training, else the mean.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Xu, Wang, Chen and Li, Empirical evaluation of rectified activations (2015). DL4J RRELU.
    """

    keeps_numbers: ClassVar = False

    low: float = option(Number(), "The smallest slope.", default=1 / 8)
    high: float = option(
        Number(), "Upper bound of the slopes, which is never reached; above low.", default=1 / 3
    )

    def validate(self) -> None:
        super().validate()
        require(self, "high", self.high > self.low, f"a number above low ({self.low})")

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        if not run.training:
            return ops.leaky_relu(x, (self.low + self.high) / 2)
        return self.perturb(x, run)

    def perturb(self, x: Value, run: Run) -> Value:
        slopes = ops.add(ops.mul(run.uniform(x.shape[1:]), self.high - self.low), self.low)
        return ops.where(ops.greater(x, 0.0), x, ops.mul(x, slopes))
