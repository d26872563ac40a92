"""Folding of constant scales and shifts into the preceding or following products.

If nothing else reads a product's result, c (x W + b) + d is x (c W) + (c b + d). The weights are
scaled at compile time, which saves a pass over the result.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.elementwise import AddOp, DivOp, MulOp, SubOp
from sparkdl.engine.ops.matmul import AddBiasOp, MatMulOp
from sparkdl.engine.ops.normalization import NormalizeOp
from sparkdl.engine.ops.shape import ReshapeOp, reshape
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvOp


def fold_scales(graph):
    """Returns the graph with scales and shifts folded into products, preceding ones first."""
    for rule in (into_product_before, into_product_behind, into_product_before):
        graph = fuse(graph, (rule,))
    return graph


@dataclass(frozen=True)
class Scaled:
    """source scale + shift, each a single number, or one per index of an axis."""

    source: int
    scale: np.ndarray
    shift: np.ndarray
    axis: int

    @property
    def is_finite(self):
        return bool(np.isfinite(self.scale).all() and np.isfinite(self.shift).all())


def scaled_by(node):
    """Returns a node as Scaled of its input `source`, or None."""
    constants = [tensor.value for tensor in node.inputs]
    if isinstance(node.op, NormalizeOp | AddBiasOp):
        parts = of_channels(node.op, constants[1:])
    else:
        parts = of_numbers(node, constants)
    return parts if parts is not None and parts.is_finite else None


def of_channels(op, constants):
    if any(value is None for value in constants):
        return None
    if isinstance(op, AddBiasOp):
        return Scaled(0, np.ones(1, np.float32), constants[0], op.axis)
    gamma, beta, mean, variance = constants
    scale = gamma / np.sqrt(variance + np.asarray(op.epsilon, variance.dtype))
    return Scaled(0, scale, beta - mean * scale, 1)


def of_numbers(node, constants):
    """Returns a sum, difference, product or quotient with a constant as Scaled, or None."""
    known = [value is not None for value in constants]
    if type(node.op) not in (AddOp, SubOp, MulOp, DivOp) or sum(known) != 1:
        return None
    at = known.index(True)
    value, shape = constants[at], node.outputs[0].shape
    if node.inputs[1 - at].shape != shape or node.outputs[0].dtype != np.float32:
        return None
    axes = [axis for axis, n in enumerate(value.shape, len(shape) - value.ndim) if n > 1]
    if len(axes) > 1 or value.dtype != np.float32:
        return None
    scale, shift = PARTS[type(node.op), at](value.reshape(-1))
    return Scaled(1 - at, scale, shift, axes[0] if axes else None)


def constant(number):
    return lambda value: np.full_like(value, number)


def parts(scale, shift):
    return lambda value: (scale(value), shift(value))


ONE, NONE = constant(1), constant(0)
PARTS = {  # by operation and position of the constant
    (AddOp, 0): parts(ONE, np.asarray),
    (AddOp, 1): parts(ONE, np.asarray),
    (SubOp, 0): parts(constant(-1), np.asarray),
    (SubOp, 1): parts(ONE, np.negative),
    (MulOp, 0): parts(np.asarray, NONE),
    (MulOp, 1): parts(np.asarray, NONE),
    (DivOp, 1): parts(np.reciprocal, NONE),
    (DivOp, 0): lambda value: (np.full_like(value, np.nan), value),  # a divisor cannot be scaled
}


def into_product_before(node, inputs, uses):
    """Folds a scale and shift into the product before it."""
    found = scaled_by(node)
    if found is not None and once(node.inputs[found.source], uses):
        return Product(inputs[found.source], node.inputs[found.source], uses).scaled(found)


@dataclass(frozen=True)
class Product:
    """The result x of a product, possibly with a bias added, or reshaped.

    `old` is x in the original graph, to which `uses` refers; None if x is new.
    """

    x: Tensor
    old: Tensor | None
    uses: dict

    def before(self):
        """Returns the Product that x is computed from, or None if others read it as well."""
        old, node = self.old, self.x.node
        same = old is not None and type(old.node.op) is type(node.op)
        if same and not once(old.node.inputs[0], self.uses):
            return None
        return Product(node.inputs[0], old.node.inputs[0] if same else None, self.uses)

    def scaled(self, by):
        """Returns x scale + shift as a product with scaled weights, or None."""
        x, op, constants = self.x, self.x.node.op, [t.value for t in self.x.node.inputs[1:]]
        if isinstance(op, ReshapeOp):
            return self.scaled_rows(by)
        if isinstance(op, AddBiasOp):
            before, fits = self.before(), by.axis in (None, op.axis)
            if before is None or not fits or constants[0] is None or before.x.node is None:
                return None
            shift = constants[0] * by.scale + by.shift
            return before.scaled(replace(by, shift=shift, axis=op.axis))
        along = channels_of(op, x)
        if along is None or constants[0] is None or by.axis not in (None, along):
            return None
        scale, shift = (np.broadcast_to(each, x.shape[along]) for each in (by.scale, by.shift))
        weights = constants[0] * wide(scale, op, constants[0])
        return AddBiasOp(along)(op(x.node.inputs[0], weights), shift.copy())

    def scaled_rows(self, by):
        """Returns rows of features, scaled before they are reshaped."""
        rows, before = self.x.node.inputs[0], self.before()
        fits = len(rows.shape) == 2 and rows.shape[1] == self.x.shape[-1] and rows.node is not None
        if before is None or not fits or by.axis not in (None, self.x.ndim - 1):
            return None
        y = before.scaled(replace(by, axis=None if by.axis is None else 1))
        return None if y is None else reshape(y, self.x.shape)


def channels_of(op, y):
    """Returns the axis of a product's result y that has the output channels, or None.

    Products of stacks of matrices have their own weights for each matrix.
    """
    plain = isinstance(op, MatMulOp) and not op.transpose_x and y.ndim == 2
    return 1 if plain or isinstance(op, ConvOp | ConvGradInputOp) else None


def wide(scale, op, w):
    """Returns one number per output channel, shaped to broadcast with the weights."""
    if isinstance(op, MatMulOp):
        return scale[:, None] if op.transpose_y else scale
    if isinstance(op, ConvOp):
        return scale.reshape(-1, *[1] * (w.ndim - 1))
    grouped = np.repeat(scale.reshape(op.groups, -1), w.shape[0] // op.groups, axis=0)
    return grouped.reshape(w.shape[0], w.shape[1], *[1] * (w.ndim - 2))


def into_product_behind(node, inputs, uses):
    """Folds a scale and shift into the convolution behind them, if that has no padding."""
    if not isinstance(node.op, ConvOp) or node.inputs[1].value is None:
        return None
    x, old, w, bias = inputs[0], node.inputs[0], node.inputs[1].value, 0
    while (found := scaled_before(node.op, x, old, uses)) is not None:
        scale, shift = (by_group(each, x, node.op, w) for each in (found.scale, found.shift))
        bias = bias + (w * shift).sum(axis=tuple(range(1, w.ndim)), dtype=np.float64)
        w, x, old = w * scale, *(each.node.inputs[found.source] for each in (x, old))
    if x is inputs[0]:
        return None
    return AddBiasOp(1)(node.op(x, w), bias.astype(np.float32))


def scaled_before(op, x, old, uses):
    """Returns the input of a convolution as Scaled, if it can be folded, else None."""
    if not once(old, uses) or type(old.node.op) is not type(x.node.op):
        return None
    found = scaled_by(x.node)
    if found is None or found.axis not in (None, 1):
        return None
    return None if found.shift.any() and any(map(any, op.padding)) else found


def by_group(values, x, op, w):
    """Returns one number per channel of x, shaped to broadcast with the weights (O, C/G, ...)."""
    values = np.broadcast_to(values, x.shape[1])
    rows = np.repeat(values.reshape(op.groups, -1), len(w) // op.groups, axis=0)
    return rows.reshape(*rows.shape, *[1] * (w.ndim - 2))
