"""A layer applied to each step of a sequence."""

import dataclasses
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

from sparkdl.config import Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import any_step, over_features
from sparkdl.nn.layers.core.run import LayerResults, Run
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.layers.wrappers.base import OfLayerInside, Wrapper


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerStep(Run):
    """A Run for a layer that sees steps as examples, with `steps` of them per example."""

    steps: int

    def draw(self, draw: Callable[..., Value], shape: Shape) -> Value:
        return rows(super().draw(draw, (self.steps, *shape)))

    def add_loss(self, values: Value) -> None:
        super().add_loss(ops.sum(ops.reshape(values, (-1, self.steps)), 1))


@dataclass(frozen=True, kw_only=True)
class TimeDistributed(Wrapper):
    """Applies one layer, with the same weights, to each step. Keras TimeDistributed.

    A mask that the layer makes, of the steps (batch, T, S) within each step, goes to the next
    TimeDistributed. Once the inner steps are gone, a step counts if any step within it did, as in
    Keras.

    Shapes
    ------
    x (batch, T, ...), y (batch, T, what the layer gives for one step)
    """

    reads_backward: ClassVar = False
    low_precision: ClassVar[Any] = OfLayerInside()
    narrow_params: ClassVar[Any] = OfLayerInside()

    layer: Layer = option(
        Of(family=Layer), "Layer at each step, with one input and no state to carry."
    )

    def validate(self) -> None:
        super().validate()
        sound = not self.layer.multi_input and not isinstance(self.layer, ScoredLayer)
        require(self, "layer", sound, "a layer with one input, and no output layer")

    def one(self, in_shape: Any) -> Shape:
        """Returns the shape of one step."""
        if len(in_shape) < 2:
            raise ShapeError(f"TimeDistributed takes sequences (steps, ...), got {in_shape}")
        if self.layer.state_shapes(in_shape[1:]):
            kind = type(self.layer).__name__
            raise ShapeError(f"TimeDistributed takes a layer that carries no state, got {kind}")
        return in_shape[1:]

    def out_shape(self, in_shape: Any) -> Shape:
        return (in_shape[0], *self.layer.out_shape(self.one(in_shape)))

    def mixes_steps(self, in_shape: Any) -> bool:
        return False

    def lists_steps(self, in_shape: Any) -> bool:
        return True

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        """Returns the mask of the steps, or that of the steps within them where there are some."""
        if mask is None or len(mask.shape) == 2:
            return mask
        inside = self.layer.out_mask(rows(mask), tuple(in_shape[1:]))
        return any_step(mask) if inside is None else steps_of(inside, mask)

    def param_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.param_shapes(self.one(in_shape))

    def buffer_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.buffer_shapes(self.one(in_shape))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        seen = {item.name: getattr(run, item.name) for item in fields(Run)}
        seen |= {"masks": masks_of_steps(x, run.mask), "results": LayerResults()}
        inside = PerStep(**seen, steps=x.shape[1])
        y = self.layer.forward(params, rows(x), inside)
        hand_on(inside.results, run, x, x.shape[1] if self.layer.sums_batch else 1)
        return steps_of(y, x)


def masks_of_steps(x: Value, mask: Value) -> tuple[Value, ...]:
    """Returns the mask for the layer inside: all that is within a padding step is padding."""
    if mask is None:
        return ()
    if len(mask.shape) > 2:
        return (rows(mask),)
    inside = x.shape[2:-1] or (1,)
    wide = ops.reshape(mask, (*mask.shape, *(1 for _ in inside)))
    return (rows(ops.broadcast_to(wide, (*mask.shape, *inside))),)


def hand_on(results: LayerResults, run: Run, x: Value, repeated: int) -> None:
    """Forwards the inner layer's results; its mask becomes one of steps within the steps of x.

    The inner layer has multiplied a sum over the batch by the number of its examples, which is
    `repeated` times that of the examples of x.
    """
    run.results.updates.update(results.updates)
    run.results.states.update(results.states)
    for values in results.losses:
        run.add_loss(values if repeated == 1 else ops.mul(values, 1 / repeated))
    for made in results.masks:
        mask = steps_of(made, x)
        outer = run.mask if run.mask is not None and len(run.mask.shape) == 2 else None
        run.mask_output(mask if outer is None else ops.mul(mask, over_features(outer)))


def steps_of(y: Value, x: Value) -> Value:
    """Returns y (N T, ...) as (N, T, ...), with N and T of x."""
    return ops.reshape(y, (*x.shape[:2], *y.shape[1:]))


def rows(x: Value) -> Value:
    """Returns x (N, T, ...) as (N T, ...)."""
    return ops.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))
