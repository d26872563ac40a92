"""The gradient of recurrent operations: back through the steps, then all products with x at once.

References
----------
Werbos, Backpropagation through time: what it does and how to do it (1990).
"""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.autodiff import pullback, zeros_like
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, register


@register
@dataclass(frozen=True)
class RecurrentGradOp(Op):
    """The gradients of all inputs of `forward` but keep and mask, given those of its outputs.

    Shapes
    ------
    gy (N, T, H), gradients of the last states (N, H) each, the inputs of `forward`, saved
    """

    forward: Op

    @property
    def label(self):
        return f"{self.forward.kind}Grad"

    def shape(self, *args):
        inputs = args[1 + self.forward.states : -1]
        kind = self.forward.shape(*inputs)[0].dtype
        return tuple(Spec(i.shape, kind) for i in inputs[: self.forward.gradient_count])

    def flops(self, *args):
        return 2 * self.forward.flops(*args[1 + self.forward.states : -1])

    def decompose(self, *args):
        """Recomputes everything without `saved`, so that it can be differentiated again."""
        return self.through(self.forward.decompose, *args)

    def through(self, function, *args):
        """Returns the gradients of `function` at the inputs of `forward`."""
        count = 1 + self.forward.states
        inputs = args[count:-1]
        grads = pullback(function, inputs, (*args[:count], None))
        grads = grads[: self.forward.gradient_count]
        return tuple(zeros_like(t) if g is None else g for g, t in zip(grads, inputs))

    def reference(self, *args):
        return self.run(np.matmul, *args)

    def run(self, product, *args):
        """Computes the gradients in numpy, with the caller's matrix product."""
        forward, count = self.forward, 1 + self.forward.states
        inputs, saved = forward.group_inputs(*args[count:-1]), args[-1]
        units, (n, steps, features) = inputs.wh.shape[0], inputs.x.shape
        gz, gr, gstates = self.walk(product, args[0], args[1:count], inputs, saved)
        gz, gr, saved = (a.reshape(steps * n, a.shape[2]) for a in (gz, gr, saved))
        arrays = blocks(saved, units)
        saved_arrays, before = arrays[: forward.saved_count], arrays[forward.saved_count :]
        gx = product(gz, inputs.wx.T).reshape(steps, n, features).swapaxes(0, 1)
        gwx = product(inputs.x.swapaxes(0, 1).reshape(steps * n, features).T, gz)
        gwh = forward.weight_gradient(product, gr, saved_arrays, before)
        grads = gx, gwx, gwh, forward.bias_gradient(gz, gr), *gstates
        if not forward.peepholes:
            return grads
        return *grads, forward.peephole_gradient(gz, saved_arrays, before)

    def walk(self, product, gy, gstates, inputs, saved):
        """Returns the gradients of z, of products with wh (T, N, gates H), and of first states."""
        forward, units = self.forward, inputs.wh.shape[0]
        gz = np.empty((*saved.shape[:2], inputs.wh.shape[1]), saved.dtype)
        gr = np.empty_like(gz) if forward.two_gradients else gz
        for t in reversed(forward.order(gy.shape[1])):
            arrays = blocks(saved[t], units)
            saved_arrays, before = arrays[: forward.saved_count], arrays[forward.saved_count :]
            gh, *rest = gstates
            after = (gh + gy[:, t], *rest)
            active = inputs.mask[:, t, None] != 0 if forward.mask else None
            all_there = active is None or active.all()
            if not all_there:
                passed = [np.where(active, 0.0, g) for g in gstates]
                after = [np.where(active, g, 0.0) for g in after]
            gz[t], own, gstates = forward.back(product, after, saved_arrays, before, inputs)
            if forward.two_gradients:
                gr[t] = own
            if not all_there:
                gstates = [g + p for g, p in zip(gstates, passed)]
            if forward.keep:
                gstates = [g * inputs.keep[:, t, None] for g in gstates]
        return gz, gr, gstates


def blocks(x, units):
    """Returns views of the arrays (N, H) stored side by side."""
    return [x[:, start : start + units] for start in range(0, x.shape[1], units)]
