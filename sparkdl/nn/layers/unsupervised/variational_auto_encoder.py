"""A variational autoencoder of fully connected layers."""

from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sparkdl.config import Of, Sequence, Size, dataclass, option
from sparkdl.config.field_types import AnyOf, Several
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.losses import Loss

WIDTHS = Sequence(of=Size(minimum=1), minimum=1)


@dataclass(frozen=True, kw_only=True)
class VariationalAutoencoder(ActivatedLayer, UnsupervisedLayer):
    """A variational autoencoder; y is the mean of the latent variables z of x.

    An encoder gives mean and log variance of the normal distribution of z; a decoder gives the
    distribution of x for a z drawn from it. Pretraining (`Network.pretrain`) minimizes the mean of
    -log p(x | z) over `samples` draws plus the KL divergence of the distribution of z from the
    standard normal one. In any other network the output is the mean of z.

    Shapes
    ------
    x (batch, n_in), y (batch, units); encoder_0_W (n_in, encoder[0]), encoder_0_b ..., mean_W,
    log_variance_W (encoder[-1], units), decoder_0_W (units, decoder[0]) ..., output_W

    References
    ----------
    Kingma and Welling, Auto-encoding variational Bayes (2014), eq. 10. DL4J's
    VariationalAutoencoder, with its default widths.
    """

    takes_rows: ClassVar = True

    units: int = option(Size(minimum=1), "Number of latent variables.")
    encoder: Several[int] = option(
        WIDTHS, "Widths of the layers from x to z, each followed by `activation`.", default=(100,)
    )
    decoder: Several[int] = option(
        WIDTHS, "Widths of the layers from z to x, each followed by `activation`.", default=(100,)
    )
    latent_activation: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction), "Activation of mean and log variance.", default="identity"
    )
    distribution: AnyOf[Loss] = option(
        Of(family=Loss),
        '-log p(x | z): "sigmoid_cross_entropy" for yes and no (Bernoulli), "gaussian", '
        '"exponential", or another loss of values.',
        default="sigmoid_cross_entropy",
    )
    samples: int = option(Size(minimum=1), "Draws of z for each example.", default=1)

    def validate(self) -> None:
        super().validate()
        loss = self.distribution
        holds = loss.label_kind == "values" and not loss.of_sequence
        require(self, "distribution", holds, "a loss of values")

    def rows(self, in_shape: Shape) -> Shape:
        if len(in_shape) != 1:
            raise ShapeError(f"VariationalAutoencoder takes rows of features (n,), got {in_shape}")
        return in_shape

    def out_shape(self, in_shape: Shape) -> Shape:
        self.rows(in_shape)
        return (self.units,)

    def joints(self, in_shape: Shape) -> dict[str, tuple[int, int]]:
        """Returns {part: (inputs, outputs)} of all the fully connected parts."""
        (n_in,) = self.rows(in_shape)
        last, back = self.encoder[-1], self.decoder[-1]
        joints = layer_sizes("encoder", (n_in, *self.encoder))
        joints |= {"mean": (last, self.units), "log_variance": (last, self.units)}
        joints |= layer_sizes("decoder", (self.units, *self.decoder))
        return joints | {"output": (back, self.distribution.units_for(n_in))}

    def param_shapes(self, in_shape: Shape) -> Shapes:
        shapes: Shapes = {}
        for part, shape in self.joints(in_shape).items():
            shapes |= {f"{part}_W": shape}
            shapes |= {f"{part}_b": shape[1:]} if self.bias else {}
        return shapes

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of all the fully connected parts."""
        return tuple(self.joints((1,)))

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{part}_W" for part in self.parts)

    @property
    def biases(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{part}_b" for part in self.parts)

    def fans(self, shape: Shape) -> Shape:
        return shape

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return super().initial(name[-1], shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.encode(params, x)[0]

    def encode(self, params: Values, x: Value) -> tuple[Value, ...]:
        """Returns mean and log variance (batch, units) of the z of x (batch, n_in)."""
        hidden = self.through(params, "encoder", self.encoder, x)
        ends = self.part(params, "mean", hidden), self.part(params, "log_variance", hidden)
        return tuple(self.latent_activation.apply(end) for end in ends)

    def decode(self, params: Values, z: Value) -> Value:
        """Returns the decoder's output for z (batch, units), which `distribution` takes."""
        hidden = self.through(params, "decoder", self.decoder, z)
        return self.part(params, "output", hidden)

    def generate(self, params: Values, z: Value) -> Value:
        """Returns the prediction of x by `distribution` for z (batch, units)."""
        return self.distribution.output(self.decode(params, z))

    def through(self, params: Values, which: str, sizes: tuple[int, ...], x: Value) -> Value:
        for i in range(len(sizes)):
            x = self.activate(self.part(params, f"{which}_{i}", x))
        return x

    def part(self, params: Values, name: str, x: Value) -> Value:
        y = ops.matmul(x, params[f"{name}_W"])
        return ops.add_bias(y, params[f"{name}_b"], -1) if self.bias else y

    def reconstruction_loss(self, params: Values, x: Value, run: Run) -> Value:
        mean, log_variance = self.encode(params, x)
        square, variance = ops.square(mean), ops.exp(log_variance)
        spread = ops.sub(ops.sub(ops.add(square, variance), log_variance), 1.0)
        divergence = ops.mul(ops.sum(spread, axes=(1,)), 0.5)
        z, count = self.draw(mean, log_variance, run)
        n, width = x.shape
        many = ops.broadcast_to(ops.reshape(x, (n, 1, width)), (n, count, width))
        losses = self.distribution.per_example(
            self.decode(params, z), ops.reshape(many, (n * count, width))
        )
        return ops.add(ops.mean(ops.reshape(losses, (n, count)), axes=(1,)), divergence)

    def draw(self, mean: Value, log_variance: Value, run: Run) -> Value:
        """Returns (z (batch * draws, units), draws): one, the mean, unless the network trains."""
        if not run.training:
            return mean, 1
        n, count = mean.shape[0], self.samples
        noise = ops.cast(run.normal((count, self.units)), mean.dtype)
        deviation = ops.reshape(ops.exp(ops.mul(log_variance, 0.5)), (n, 1, self.units))
        z = ops.add(ops.reshape(mean, (n, 1, self.units)), ops.mul(deviation, noise))
        return ops.reshape(z, (n * count, self.units)), count


def layer_sizes(which: str, sizes: Iterable[int]) -> dict[str, tuple[int, int]]:
    """Returns {"encoder_0": (inputs, outputs), ...} of consecutive layers of these sizes."""
    return {f"{which}_{i}": pair for i, pair in enumerate(pairwise(sizes))}
