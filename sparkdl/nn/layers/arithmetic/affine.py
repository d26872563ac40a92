"""Learned scaling and shifting per channel."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, Integer, Number, Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.initializers import Constant, Initializer
from sparkdl.nn.layers.core.channels import broadcast_channels, channel_axis, channels_of
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer


@dataclass(frozen=True, kw_only=True)
class Factors(TrainableLayer, abstract=True):
    """A layer whose parameters are exempt from the network's l1 and l2."""

    l1: float = option(
        Number(minimum=0),
        "l1 |w| of this layer's factors is added to the loss. Caffe lets all parameters decay.",
        default=0.0,
    )
    l2: float = option(Number(minimum=0), "The same with l2 w^2 / 2.", default=0.0)
    bias_l1: float = option(Number(minimum=0), "l1 of the shifts.", default=0.0)
    bias_l2: float = option(Number(minimum=0), "l2 of the shifts.", default=0.0)


@dataclass(frozen=True, kw_only=True)
class Affine(Factors):
    """y = gamma x + beta, per channel or feature. Caffe layers Scale and Bias.

    Shapes
    ------
    x, y (batch, C), (batch, T, C), (batch, C, H, W) or (batch, C, D, H, W); gamma, beta (C,)
    """

    biases: ClassVar[tuple[str, ...]] = ("beta",)
    penalized_by_layer: ClassVar[tuple[str, ...]] = ("gamma",)

    axis: int | None = option(
        Integer(minimum=0),
        "First axis of an example that gamma and beta have. None: that of the channels.",
        default=None,
    )
    axes: int = option(
        Integer(minimum=0),
        "Number of axes of an example that they have; with 0 they are one number each.",
        default=1,
    )
    scale: bool = option(Boolean(), "Whether to scale by a gamma.", default=True)
    shift: bool = option(
        Boolean(), "Whether there is a beta; True where scale is False.", default=True
    )
    scale_initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of gamma.", default="ones"
    )
    shift_initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of beta.", default="zeros"
    )

    def validate(self) -> None:
        super().validate()
        require(self, "shift", self.scale or self.shift, "True where scale is False")

    def out_shape(self, in_shape: Shape) -> Shape:
        if not in_shape:
            raise ShapeError(f"Affine takes at least rows of features, got {in_shape}")
        first = self.first(in_shape)
        if first + self.axes > len(in_shape):
            raise ShapeError(
                f"Affine of {self.axes} axes from {first} on needs them, got {in_shape}"
            )
        return in_shape

    def first(self, in_shape: Shape) -> int:
        """Returns the first axis of an example that gamma and beta have."""
        return channel_axis(in_shape) if self.axis is None else self.axis

    def spread(self, values: Value, x: Value) -> Value:
        """Returns gamma or beta shaped so that it broadcasts over the batch x."""
        first = 1 + self.first(x.shape[1:])
        inside = range(first, first + self.axes)
        return ops.reshape(values, tuple(n if i in inside else 1 for i, n in enumerate(x.shape)))

    def param_shapes(self, in_shape: Shape) -> Shapes:
        flags = {"gamma": self.scale, "beta": self.shift}
        first = self.first(in_shape)
        shape = tuple(in_shape[first : first + self.axes]) or (1,)
        return {name: shape for name, wanted in flags.items() if wanted}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        first = self.scale_initializer if name == "gamma" else self.shift_initializer
        return first.draw(shape, (1, 1), rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        y = ops.mul(x, self.spread(params["gamma"], x)) if self.scale else x
        return ops.add(y, self.spread(params["beta"], x)) if self.shift else y


@dataclass(frozen=True, kw_only=True)
class ElementWiseMultiplication(ActivatedLayer):
    """y = activation(x W + b), element by element. DL4J ElementWiseMultiplicationLayer.

    Shapes
    ------
    x, y (batch, F) or (batch, T, F); W, b (F,)
    """

    takes_rows: ClassVar = True
    ends_in_activation: ClassVar = True

    def param_shapes(self, in_shape: Shape) -> Shapes:
        shape = self.rows(in_shape)[-1:]
        return {"W": shape} | ({"b": shape} if self.bias else {})

    def fans(self, shape: Shape) -> Shape:
        return (*shape, *shape)

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.rows(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        y = ops.mul(x, params["W"])
        return self.activate(ops.add(y, params["b"]) if self.bias else y)


@dataclass(frozen=True, kw_only=True)
class PRelu(Factors):
    """x above 0, else alpha x, where alpha is learned.

    Shapes
    ------
    x, y (batch, C), (batch, T, C), (batch, C, H, W) or (batch, C, D, H, W); alpha (C,) or (1,)

    References
    ----------
    He, Zhang, Ren and Sun, Delving deep into rectifiers (2015), section 2.1. Caffe PReLU, whose
    first value and sharing are these; DL4J and Keras begin with 0.
    """

    penalized_by_layer: ClassVar[tuple[str, ...]] = ("alpha",)

    shared: bool = option(
        Boolean(),
        "Whether all channels share one alpha; otherwise each has its own.",
        default=False,
    )
    initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of alpha.", default=Constant(value=0.25)
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        if not in_shape:
            raise ShapeError(f"PRelu takes at least rows of features, got {in_shape}")
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"alpha": (1,) if self.shared else channels_of(in_shape)}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.initializer.draw(shape, (1, 1), rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        alpha = params["alpha"] if self.shared else broadcast_channels(params["alpha"], x)
        return ops.where(ops.greater(x, 0.0), x, ops.mul(x, alpha))
