"""A wrapper that trains a layer without labels."""

from typing import ClassVar

from sparkdl.config import Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import mask_over
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.layers.wrappers.base import Wrapper


@dataclass(frozen=True, kw_only=True)
class Reconstruction(Wrapper):
    """Wraps a layer that reconstructs its input; the reconstruction loss is the network's loss.

    In TimeDistributed that of masked steps does not count.

    Shapes
    ------
    those of the other layer
    """

    adds_loss: ClassVar = True

    layer: UnsupervisedLayer = option(
        Of(family=Layer), "An AutoEncoder, a VariationalAutoencoder or another that reconstructs."
    )

    def validate(self) -> None:
        super().validate()
        holds = isinstance(self.layer, UnsupervisedLayer)
        require(self, "layer", holds, "a layer that reconstructs its input")

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        return self.layer.takes_rows

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.layer.out_shape(in_shape)

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return self.layer.param_shapes(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        losses, there = self.layer.reconstruction_loss(params, x, run), mask_over(x, run.mask)
        if there is not None and len(x.shape) == 2:
            losses = ops.where(ops.reshape(there, losses.shape), losses, 0.0)
        run.add_loss(losses)
        return self.layer.forward(params, x, run)
