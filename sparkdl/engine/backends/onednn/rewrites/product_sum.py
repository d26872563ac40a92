"""A product added to an input of the graph in one pass: gradients accumulated in place."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from sparkdl.engine.backends.onednn.lowerings import products
from sparkdl.engine.backends.onednn.lowerings.elementwise import ADD_TO_RESULT
from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.elementwise import AddOp, add
from sparkdl.engine.ops.matmul import MatMulOp


@dataclass(frozen=True)
class ProductSumOp(Op):
    """z plus a matrix product.

    Shapes
    ------
    z (M, N); x, y as `product` takes them
    """

    in_place: ClassVar = True  # over z

    product: MatMulOp

    @property
    def label(self):
        return f"{self.product.label}+Add"

    def shape(self, z, x, y):
        return z

    def decompose(self, z, x, y):
        return add(z, self.product(x, y))

    def flops(self, z, x, y):
        return self.product.flops(x, y)


def products_into_sums(graph):
    """Fuses products into the sums that read them."""
    return fuse(graph, (product_into_sum,))


def product_into_sum(node, inputs, uses):
    """Fuses input + product if nothing else reads the product."""
    if not isinstance(node.op, AddOp) or not once(node.inputs[1], uses):
        return None
    z, product = inputs
    is_input = z.node is None and z.value is None
    if not is_input or product.node is None or not isinstance(product.node.op, MatMulOp):
        return None
    alike = z.shape == product.shape and z.ndim == 2 and z.spec.size
    if alike and z.dtype == product.dtype == np.float32:
        return ProductSumOp(product.node.op)(z, *product.node.inputs)


def lower(session, op, z, x, y, out):
    """Returns the calls and kernel name of a ProductSumOp."""
    after = [ADD_TO_RESULT]
    calls, name = products.forward(session, op.product, x, y, out, after=after)
    copied = [] if np.may_share_memory(z, out) else [partial(np.copyto, out, z)]
    return copied + calls, name
