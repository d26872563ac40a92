"""A fully connected layer that can learn to reconstruct its input."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Number, Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer
from sparkdl.nn.layers.dense.fully_connected import FullyConnected
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.losses import Loss


@dataclass(frozen=True, kw_only=True)
class AutoEncoder(ActivatedLayer, FullyConnected, UnsupervisedLayer):
    """y = activation(x W + b), a Dense layer, from which y W' + visible_b reconstructs x.

    In pretraining (`Network.pretrain`) some numbers of x become 0, and the loss compares the
    reconstruction with the original x.

    Shapes
    ------
    x (batch, n_in), y (batch, units), W (n_in, units), b (units,), visible_b (n_in,)

    References
    ----------
    Vincent, Larochelle, Bengio and Manzagol, Extracting and composing robust features with
    denoising autoencoders (2008), section 2.3. DL4J's AutoEncoder.
    """

    biases: ClassVar[tuple[str, ...]] = ("b", "visible_b")
    ends_in_activation: ClassVar = True

    corruption: float = option(
        Number(minimum=0, below=1),
        "Probability that a number of x becomes 0 in pretraining.",
        default=0.3,
    )
    loss: AnyOf[Loss] = option(
        Of(family=Loss),
        'Loss of the reconstruction; "sigmoid_cross_entropy" for x in [0, 1], "mse", "l2" for '
        "others.",
        default="sigmoid_cross_entropy",
    )
    decoder_activation: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        "Activation of the reconstruction, before the loss. Losses such as "
        "sigmoid_cross_entropy have their own.",
        default="identity",
    )

    def validate(self) -> None:
        super().validate()
        holds = self.loss.predicts == "values" and not self.loss.of_sequence
        require(self, "loss", holds, "a loss of as many values as there are units")

    def rows(self, in_shape: Shape) -> Shape:
        if len(in_shape) != 1:
            raise ShapeError(f"AutoEncoder takes rows of features (n,), got {in_shape}")
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        shapes = super().param_shapes(in_shape)
        return shapes | {"visible_b": self.rows(in_shape)} if self.bias else shapes

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return super().initial("b" if name == "visible_b" else name, shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.activate(self.affine(params, x))

    def reconstruction_loss(self, params: Values, x: Value, run: Run) -> Value:
        back = self.decode(params, self.forward(params, self.corrupt(x, run), run))
        return self.loss.per_example(back, x)

    def corrupt(self, x: Value, run: Run) -> Value:
        """Returns x, of which some numbers are 0 while training."""
        if not run.training or self.corruption == 0:
            return x
        chance = ops.cast(run.uniform(x.shape[1:]), x.dtype)
        return ops.mul(x, ops.sub(1.0, ops.greater(self.corruption, chance)))

    def decode(self, params: Values, y: Value) -> Value:
        """Returns the reconstruction (batch, n_in) of x from y (batch, units)."""
        back = ops.matmul(y, params["W"], False, True)
        back = ops.add_bias(back, params["visible_b"], -1) if self.bias else back
        return self.decoder_activation.apply(back)
