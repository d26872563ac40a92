"""Base of the recurrent operations: the loop over the steps, forwards or backwards.

Axes: N sequences, T steps, F features, H units. Weights have a block of H columns per gate.
"""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type
from sparkdl.engine.ops.recurrent.arithmetic import RecurrentArrays, Tensors
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.shape import cast
from sparkdl.errors import ShapeError


class RecurrentInputs(NamedTuple):
    """The inputs of a recurrent operation by name; None for absent ones."""

    x: Any
    wx: Any
    wh: Any
    b: Any
    states: tuple
    peepholes: Any
    keep: Any
    mask: Any


@dataclass(frozen=True)
class RecurrentOp(Op):
    """(y, last states ..., saved) of sequences x; `saved` has what the gradient needs of each step.

    Parameters
    ----------
    keep : bool
        Adds an input keep (N, T), Caffe's continuation indicators: the states entering step t are
        multiplied by keep[:, t], so 0 starts a new sequence.
    mask : bool
        Adds an input mask (N, T): where it is 0, the states pass the step unchanged and y is 0, so
        the last states are those of each sequence's last real step. These are DL4J's masks, and
        Keras' with zero_output_for_mask.
    backwards : bool
        Runs from the last step to the first.

    Shapes
    ------
    x (N, T, F), wx (F, gates H), wh (H, gates H), b (biases H,), first states (N, H) each,
    peepholes (3 H,), keep (N, T), mask (N, T); y (N, T, H), last states (N, H) each, saved (T, N,
    arrays H) in the type of computation. keep and mask have no gradient.
    """

    floating = True
    gates: ClassVar[int]
    biases: ClassVar[int]
    states: ClassVar[int] = 1
    saved_count: ClassVar[int]  # arrays (N, H) that a step saves for its gradient
    peepholes: ClassVar[bool] = False
    two_gradients: ClassVar[bool] = False  # whether z and the product with wh differ in gradient

    keep: bool = False
    mask: bool = False
    backwards: bool = False

    def step(self, m, z, states, inputs):
        """Returns (states, arrays to save for the gradient) of a step; z (N, gates H): x wx + b."""
        raise NotImplementedError

    def back(self, product, gstates, saved, before, inputs):
        """Returns a step's gradients in numpy: of z, its product with wh, and the old states."""
        raise NotImplementedError

    def weight_gradient(self, product, gr, saved, before):
        """Returns the gradient of wh, given those of all steps' products with wh.

        `gr`, `saved` and the states before have one row per step and sequence.
        """
        return product(before[0].T, gr)

    def bias_gradient(self, gz, gr):
        return gz.sum(axis=0)

    def group_inputs(self, *inputs):
        rest = iter(inputs[4 + self.states :])
        has = (self.peepholes, self.keep, self.mask)
        states = tuple(inputs[4 : 4 + self.states])
        return RecurrentInputs(*inputs[:4], states, *(next(rest) if each else None for each in has))

    @property
    def gradient_count(self):
        """The number of inputs with a gradient."""
        return 4 + self.states + self.peepholes

    def shape(self, *inputs):
        x, wh, shapes = inputs[0].shape, inputs[2].shape, [i.shape for i in inputs]
        if (
            len(x) != 3
            or len(wh) != 2
            or min(x[1], wh[0]) < 1
            or shapes != self.input_shapes(x, wh[0])
        ):
            raise ShapeError(
                f"{self.kind} needs x (N, T, F), wx (F, {self.gates} H), wh (H, "
                f"{self.gates} H), b ({self.biases} H,), {self.states} states (N, H), peepholes "
                f"(3 H,), keep and mask (N, T) where it has them, a step and a unit; got {shapes}"
            )
        (n, steps, _), units, kind = x, wh[0], common_type(*inputs[: self.gradient_count])
        last = [(n, units)] * self.states
        saved = Spec((steps, n, (self.saved_count + self.states) * units), computing_dtype(kind))
        return *(Spec(shape, kind) for shape in ((n, steps, units), *last)), saved

    def input_shapes(self, x, units):
        """Returns the shapes of all inputs."""
        (n, steps, features), wide = x, self.gates * units
        extra = [(3 * units,)] * self.peepholes + [(n, steps)] * (self.keep + self.mask)
        first = [(n, units)] * self.states
        return [x, (features, wide), (units, wide), (self.biases * units,), *first, *extra]

    def flops(self, *inputs):
        (n, steps, features), (units, wide) = inputs[0].shape, inputs[2].shape
        return 2 * n * steps * (features + units) * wide

    def order(self, steps):
        return range(steps)[:: -1 if self.backwards else 1]

    def reference(self, *inputs):
        return self.run(RecurrentArrays(), *inputs)

    def decompose(self, *inputs):
        return self.run(Tensors(), *inputs)

    def run(self, m, *inputs):
        """Multiplies x by wx for all steps at once, then loops over the steps."""
        grouped = self.group_inputs(*inputs)
        (n, steps, features), wide = grouped.x.shape, grouped.wx.shape[1]
        z = m.product(m.reshape(grouped.x, (n * steps, features)), grouped.wx)
        z = m.reshape(z + m.part(grouped.b, 0, wide), (n, steps, wide))
        states, ys, saved = grouped.states, [None] * steps, [None] * steps
        for t in self.order(steps):
            before = self.entering(m, states, grouped, t)
            states, kept_arrays = self.step(m, m.at(z, t), before, grouped)
            ys[t], saved[t] = states[0], (*kept_arrays, *before)
            if self.mask:
                active = m.reshape(m.at(grouped.mask, t), (n, 1))
                ys[t] = m.where(active, ys[t], 0.0)
                states = tuple(m.where(active, new, old) for new, old in zip(states, before))
        return m.join(ys), *states, m.stack_saved(saved)

    def entering(self, m, states, inputs, t):
        """Returns the states that enter step t."""
        if not self.keep:
            return states
        keep = m.reshape(m.at(inputs.keep, t), (-1, 1))
        return tuple(state * keep for state in states)

    def gradient(self, gys, *inputs_and_ys):
        *inputs, ys = inputs_and_ys
        gys = [np.zeros(y.shape, y.dtype) if g is None else g for g, y in zip(gys[:-1], ys)]
        grads = RecurrentGradOp(self)(*gys, *inputs, ys[-1])
        return (*grads, *(None for _ in inputs[self.gradient_count :]))


def apply_with_masks(op, x, *inputs, keep, mask):
    """Applies `op` with the given indicators (N, T); returns its outputs without `saved`."""
    extra = [cast(inputs, x.dtype) for inputs in (keep, mask) if inputs is not None]
    op = replace(op, keep=keep is not None, mask=mask is not None)
    return op(x, *inputs, *extra)[:-1]
