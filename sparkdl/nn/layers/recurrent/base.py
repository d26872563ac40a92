"""Bases of the recurrent layers: weights per gate, states, the loop over the steps."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Of, Size, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.activations import ActivationFunction, HardSigmoid, Sigmoid
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import WeightedLayer


@dataclass(frozen=True, kw_only=True)
class Recurrent(WeightedLayer, abstract=True):
    """A layer that loops over the steps of sequences and carries a state from step to step.

    At steps masked as padding, the state is unchanged and the output is 0.

    Shapes
    ------
    x (batch, T, F); y (batch, T, units), or (batch, units) without `return_sequences`; W (F, gates
    units), RW (units, gates units), b (gates units,)
    """

    penalized: ClassVar[tuple[str, ...]] = ("W", "RW")
    gates: ClassVar[int]
    carried: ClassVar[tuple[str, ...]] = ("h",)

    units: int = option(Size(minimum=1), "Width of the state and of the output.")
    return_sequences: bool = option(
        Boolean(),
        "Whether every step has an output; otherwise only the state after the last step is "
        "returned.",
        default=True,
    )
    recurrent_initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of RW.", default="orthogonal"
    )
    continuation: bool = option(
        Boolean(),
        "Whether there is a second input (steps,) or (steps, 1), Caffe's indicators: at a step "
        "where it is not above 0 a new sequence starts, with a state of zeros.",
        default=False,
    )

    @property
    def multi_input(self) -> bool:  # type: ignore[override]
        """True if the layer also reads continuation indicators."""
        return self.continuation

    def sequences(self, in_shape: Any) -> Shape:
        """Returns the shape of the sequences, the first input if there are indicators."""
        if not self.continuation:
            return self.sequence(in_shape)
        if len(in_shape) != 2 or in_shape[1] not in (in_shape[0][:1], (*in_shape[0][:1], 1)):
            raise ShapeError(
                f"{type(self).__name__} takes sequences (steps, features) and indicators (steps,), "
                f"got {in_shape}"
            )
        return self.sequence(in_shape[0])

    def out_shape(self, in_shape: Any) -> Shape:
        steps, _ = self.sequences(in_shape)
        return (steps, self.units) if self.return_sequences else (self.units,)

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return (mask[0] if self.continuation else mask) if self.return_sequences else None

    def state_shapes(self, in_shape: Any) -> Shapes:
        return dict.fromkeys(self.carried, (self.units,))

    def param_shapes(self, in_shape: Any) -> Shapes:
        wide = self.gates * self.units
        shapes: Shapes = {"W": (self.sequences(in_shape)[1], wide), "RW": (self.units, wide)}
        return shapes | {"b": (self.outputs(),)} if self.bias else shapes

    def outputs(self) -> int:
        return self.gates * self.units

    def fans(self, shape: Shape) -> Shape:
        return shape

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        if name == "RW":
            return self.recurrent_initializer.draw(shape, shape, rng)
        return super().initial(name, shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x, keep = x if self.continuation else (x, None)
        y, *last = self.over_time(params, x, run, keep)
        return y if self.return_sequences else last[0]

    def over_time(
        self, params: Values, x: Value, run: Run, keep: Value = None, backwards: bool = False
    ) -> tuple[Value, ...]:
        """Returns (y, last states ...), with gradients through the last run.backward_steps only."""
        n, steps = x.shape[:2]
        keep = None if keep is None else ops.greater(ops.reshape(keep, (n, steps)), 0.0)
        states: Any = [self.first(run, name, x) for name in self.carried]
        ys: list[Value] = []
        for start, stop in gradient_spans(steps, run.backward_steps):
            part = {
                "keep": slice_steps(keep, start, stop),
                "mask": slice_steps(run.mask, start, stop),
            }
            states, ys = map(ops.stop_gradient, states), list(map(ops.stop_gradient, ys))
            y, *states = self.walk(
                params, slice_steps(x, start, stop), *states, backwards=backwards, **part
            )
            ys.append(y)
        for name, state in zip(self.carried, states, strict=True):
            run.carry(name, state)
        return ys[0] if len(ys) == 1 else ops.concat(ys, 1), *states

    def first(self, run: Run, name: str, x: Value) -> Value:
        """Returns the initial state, by default zeros."""
        state = run.state(name)
        return np.zeros((x.shape[0], self.units), x.dtype) if state is None else state

    def walk(
        self, params: Values, x: Value, *states: Value, keep: Value, mask: Value, backwards: bool
    ) -> tuple[Value, ...]:
        """Returns (y, last states ...), computed by the engine's recurrent operation."""
        raise NotImplementedError

    def weights_of(self, params: Values) -> tuple[Value, ...]:
        """Returns W, RW, b; zeros if there is no b."""
        w = params["W"]
        return w, params["RW"], params["b"] if self.bias else np.zeros(self.outputs(), w.dtype)


@dataclass(frozen=True, kw_only=True)
class GatedRecurrent(Recurrent, abstract=True):
    """A recurrent layer with gates."""

    gate_activation: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction), '"sigmoid" or "hard_sigmoid".', default="sigmoid"
    )

    def validate(self) -> None:
        super().validate()
        known = isinstance(self.gate_activation, Sigmoid | HardSigmoid)
        require(self, "gate_activation", known, "sigmoid or hard_sigmoid")

    @property
    def slope(self) -> float | None:
        """The slope of the hard sigmoid; None for the smooth sigmoid."""
        return getattr(self.gate_activation, "slope", None)


def gradient_spans(steps: int, backward_steps: int | None) -> list[tuple[int, int]]:
    """Returns (start, stop) of the steps without gradients, if any, and of those with them."""
    cut = 0 if backward_steps is None else max(steps - backward_steps, 0)
    return [(0, cut), (cut, steps)] if cut else [(0, steps)]


def slice_steps(x: Value, start: int, stop: int) -> Value:
    """Slices steps of x (N, T, ...); returns x if it is None or all steps are selected."""
    if x is None or (start, stop) == (0, x.shape[1]):
        return x
    n, _, *rest = x.shape
    return ops.slice(x, (0, start, *(0 for _ in rest)), (n, stop, *rest))
