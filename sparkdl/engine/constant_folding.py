"""Constant folding: values that depend on bound inputs alone are not computed in every run.

In inference these are the values derived from the weights alone.
"""

from dataclasses import dataclass

from sparkdl.engine.dtypes import computing_dtype
from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.graph import Tensor, scope
from sparkdl.engine.ops.elementwise import add, div, mul, sqrt, sub
from sparkdl.engine.ops.matmul import AddBiasOp, MatMulOp
from sparkdl.engine.ops.normalization import NormalizeOp
from sparkdl.engine.ops.shape import CastOp, ReshapeOp, cast, reshape
from sparkdl.engine.ops.spatial.conv import ConvOp
from sparkdl.engine.ops.spatial.sequence import ImageToSequenceOp


def constant_tensors(graph, bindings):
    """Returns the tensors that change only if bound inputs change, including those inputs."""
    constants = {t for name, t in graph.inputs.items() if name in bindings}
    constants.update(t for node in graph.nodes for t in node.inputs if t.value is not None)
    for node in graph.nodes:
        if node.inputs and constants.issuperset(node.inputs):
            constants.update(node.outputs)
    return constants


def fold_norms(graph, constants):
    """Folds normalizations into the products before them.

    If a Normalize with constant statistics is the only reader of a product with constant weights,
    the product gets weights and a bias that yield normalized values directly.
    """

    def rule(node, inputs, uses):
        if isinstance(node.op, NormalizeOp) and constants.issuperset(node.inputs[1:]):
            _, gamma, beta, mean, variance = inputs
            scale = div(gamma, sqrt(add(variance, node.op.epsilon)))
            norm = Norm(scale, sub(beta, mul(mean, scale)), 1)
            return norm.absorb(node.inputs[0], inputs[0], uses, constants)

    return fuse(graph, (rule,))


@dataclass(frozen=True)
class Norm:
    """The map x scale + shift, with one number per channel, an index of `axis`."""

    scale: Tensor
    shift: Tensor
    axis: int

    def absorb(self, old, x, uses, constants):
        """Returns x with the norm folded into the product that x comes from, else None.

        `old` is x in the original graph, to which `uses` and `constants` refer.
        """
        if not once(old, uses) or not constants.issuperset(old.node.inputs[1:]):
            return None
        op, (first, *rest) = x.node.op, x.node.inputs
        if is_product(op, old, self.axis):
            with scope(x.node.scope):
                return AddBiasOp(self.axis)(op(first, self.scale_weights(op, *rest)), self.shift)
        norm = self.before(op, old, *rest)
        y = norm and norm.absorb(old.node.inputs[0], first, uses, constants)
        return y if y is None or isinstance(op, AddBiasOp) else op(y)

    def before(self, op, old, *rest):
        """Returns the equivalent norm in front of a node, or None if there is none."""
        axis, shape = self.axis, old.node.inputs[0].shape if old.node.inputs else ()
        if isinstance(op, AddBiasOp) and op.axis == axis:
            return Norm(self.scale, add(self.shift, mul(rest[0], self.scale)), axis)
        if isinstance(op, ImageToSequenceOp) and axis == 2:
            return Norm(self.scale, self.shift, 1)
        rows = len(shape) in (2, 3) and axis == len(old.shape) - 1 and shape[-1] == old.shape[-1]
        if isinstance(op, ReshapeOp) and rows:
            return Norm(self.scale, self.shift, len(shape) - 1)
        return None

    def scale_weights(self, op, w):
        """Returns weights times the scale, multiplied in float32 and rounded once if narrow."""
        source = w.node.inputs[0] if w.node and isinstance(w.node.op, CastOp) else w
        first = isinstance(op, ConvOp) or op.transpose_y
        shape = [1] * len(w.shape)
        shape[0 if first else -1] = -1
        wide = cast(source, computing_dtype(w.dtype))
        return cast(mul(wide, reshape(self.scale, shape)), w.dtype)


def is_product(op, y, axis):
    """Returns whether y is a product of weights that hold one filter per index of `axis`."""
    if isinstance(op, MatMulOp):
        return axis == len(y.shape) - 1 and len(y.node.inputs[1].shape) == 2
    return isinstance(op, ConvOp) and axis == 1
