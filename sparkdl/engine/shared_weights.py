"""The gradient of weights shared by several products, as one product.

Each step of a sequence adds x' gy to the gradient of the same weights. Concatenating the x and the
gy of all steps gives the sum as one product, so the gradient is written once instead of being read
and written in each step.
"""

from functools import reduce

from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.shape import concat


def add_products(xs):
    """Sums tensors of one shape, merging alike products into one at the first one's place."""
    alike = {}
    for i, x in enumerate(xs):
        alike.setdefault(form(x) or i, []).append(x)
    return reduce(add, [one_product(group) for group in alike.values()])


def form(x):
    """Returns the key by which small products are merged, or None if x is not one."""
    if x.node is None or not isinstance(x.node.op, MatMulOp) or x.ndim != 2:
        return None
    left, right = x.node.inputs
    small = left.spec.size + right.spec.size < x.spec.size
    return (x.node.op, left.dtype, right.dtype) if small else None


def one_product(xs):
    """Returns x y + z w as [x z] [y; w]."""
    if len(xs) == 1:
        return xs[0]
    op, (lefts, rights) = xs[0].node.op, zip(*(x.node.inputs for x in xs), strict=True)
    return op(concat(lefts, 0 if op.transpose_x else 1), concat(rights, int(op.transpose_y)))
