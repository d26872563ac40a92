"""A layer that is used but not trained."""

from dataclasses import replace
from typing import Any, ClassVar

from sparkdl.config import Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.layers.wrappers.base import OfLayerInside, Wrapper


@dataclass(frozen=True, kw_only=True)
class Frozen(Wrapper):
    """Freezes a layer: it works as at inference even while the network is trained.

    Its parameters and buffers do not change: no gradient, decay or constraint applies to them.
    Dropout inside does not drop, and batch normalization uses its running statistics. Gradients
    flow through to the layers before it. DL4J FrozenLayer.

    Shapes
    ------
    those of the other layer
    """

    rate_factor: ClassVar[float] = 0.0  # so that no optimizer's weight decay moves them
    constraints: ClassVar = ()
    penalized: ClassVar[tuple[str, ...]] = ()
    penalized_by_layer: ClassVar[tuple[str, ...]] = ()
    biases: ClassVar[tuple[str, ...]] = ()

    low_precision: ClassVar[Any] = OfLayerInside()
    narrow_params: ClassVar[Any] = OfLayerInside()
    takes_rows: ClassVar[Any] = OfLayerInside()
    multi_input: ClassVar[Any] = OfLayerInside()

    layer: Layer = option(Of(family=Layer), "The layer inside; not an output.")

    def validate(self) -> None:
        super().validate()
        require(self, "layer", not isinstance(self.layer, ScoredLayer), "no output layer")

    def out_shape(self, in_shape: Any) -> Shape:
        return self.layer.out_shape(in_shape)

    def param_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.param_shapes(in_shape)

    def buffer_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.buffer_shapes(in_shape)

    def state_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.state_shapes(in_shape)

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return self.layer.out_mask(mask, in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        fixed = {name: ops.stop_gradient(value) for name, value in params.items()}
        return self.layer.forward(fixed, x, replace(run, training=False))
