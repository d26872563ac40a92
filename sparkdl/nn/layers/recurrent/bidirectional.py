"""A recurrent layer in both directions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import LayerResults, Run
from sparkdl.nn.layers.recurrent.base import Recurrent
from sparkdl.nn.layers.wrappers.base import Wrapper

DIRECTIONS = ("forward", "backward")
MODES: dict[str, Callable[[Value, Value], Value]] = {
    "concat": lambda a, b: ops.concat([a, b], -1),
    "add": ops.add,
    "mul": ops.mul,
    "average": lambda a, b: ops.mul(ops.add(a, b), 0.5),
}


@dataclass(frozen=True, kw_only=True)
class Bidirectional(Wrapper):
    """Runs a recurrent layer in both directions, with separate weights for each.

    The reverse direction starts at the last step or, with a mask, at each sequence's last real
    step; the two outputs are then combined.

    It carries no state to the next batch, as the reverse direction starts at the end.

    Shapes
    ------
    x (batch, T, F); y (batch, T, 2 units) with "concat", else (batch, T, units); without the
    layer's return_sequences (batch, 2 units) or (batch, units): the states after the last step
    that each direction takes. Parameters are forward_W, backward_W ...

    References
    ----------
    Schuster and Paliwal, Bidirectional recurrent neural networks (1997). DL4J and Keras
    Bidirectional.
    """

    reads_backward: ClassVar = True

    layer: Recurrent = option(Of(family=Layer), "An LSTM, a GRU or another recurrent layer.")
    mode: str = option(
        Choice(of=tuple(MODES)), "Combination of the two outputs of a step.", default="concat"
    )

    def validate(self) -> None:
        super().validate()
        sound = isinstance(self.layer, Recurrent) and not self.layer.continuation
        require(self, "layer", sound, "a recurrent layer without continuation")

    def out_shape(self, in_shape: Any) -> Shape:
        *lead, units = self.layer.out_shape(in_shape)
        return (*lead, units * 2 if self.mode == "concat" else units)

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return self.layer.out_mask(mask, in_shape)

    def param_shapes(self, in_shape: Any) -> Shapes:
        shapes = self.layer.param_shapes(in_shape).items()
        return {f"{d}_{name}": shape for d in DIRECTIONS for name, shape in shapes}

    @property
    def penalized(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{d}_{name}" for d in DIRECTIONS for name in self.layer.penalized)

    @property
    def biases(self) -> tuple[str, ...]:
        return tuple(f"{d}_{name}" for d in DIRECTIONS for name in self.layer.biases)

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.layer.initial(name.partition("_")[2], shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        run = replace(run, states={}, results=LayerResults())
        results = []
        for direction in DIRECTIONS:
            mark = f"{direction}_"
            own = {n.removeprefix(mark): p for n, p in params.items() if n.startswith(mark)}
            y, last, *_ = self.layer.over_time(own, x, run, backwards=direction == "backward")
            results.append(y if self.layer.return_sequences else last)
        return MODES[self.mode](*results)
