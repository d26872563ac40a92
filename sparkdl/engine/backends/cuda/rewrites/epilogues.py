"""Products and what follows them as nodes for one call of cuBLASLt."""

from dataclasses import replace

import numpy as np

from sparkdl.engine.backends.cuda.lowerings.product_epilogue import EpilogueProductOp, has_epilogue
from sparkdl.engine.dtypes import is_narrow
from sparkdl.engine.fusion import BiasActivationOp, apply_first, fuse, once
from sparkdl.engine.graph import Graph, scope
from sparkdl.engine.ops.elementwise import AddOp
from sparkdl.engine.ops.gelu import GeluGradOp, GeluOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.reduce import SumOp
from sparkdl.engine.ops.shape import CastOp, ReshapeOp, cast, reshape


def fuse_product_epilogues(graph):
    return with_second_outputs(fuse(graph, RULES))


def bias_and_activation(node, inputs, uses):
    """Fuses a bias, cast to the product's type, and its activation if cuBLASLt supports it."""
    op, kind = node.op, node.outputs[0].spec.dtype
    if isinstance(op, BiasActivationOp) and isinstance(op.product, MatMulOp):
        x, w, bias = inputs
        bias = bias if bias.spec.dtype == kind else cast(bias, kind)
        if op.activation is None or has_epilogue(op.activation):
            return EpilogueProductOp(op.product, kind, bias=True, activation=op.activation)(
                x, w, bias
            )
        return op.activation(EpilogueProductOp(op.product, kind, bias=True)(x, w, bias))


def cast_of_product(node, inputs, uses):
    """Gives a product of narrow numbers directly in float32, the type of its accumulator."""
    wide = isinstance(node.op, CastOp) and node.outputs[0].dtype == np.float32
    if wide and once(node.inputs[0], uses):
        before = inputs[0].node
        product = EpilogueProductOp.of(before)
        if product is not None and product.bare and is_narrow(inputs[0].dtype):
            return replace(product, dtype="float32")(*before.inputs)


def add_to_product(node, inputs, uses):
    """Fuses product (+ bias) + another matrix, also through a reshape."""
    if not isinstance(node.op, AddOp) or node.outputs[0].ndim > 3:  # images are channels last
        return None
    for index, other in ((0, 1), (1, 0)):
        rows = rows_of(node.inputs[index], inputs[index], uses)
        product = None if rows is None else EpilogueProductOp.of(rows.node)
        if product is None or product.plus or product.activation is not None:
            continue
        if inputs[other].spec == node.outputs[0].spec and product.dtype == inputs[other].spec.dtype:
            plus = reshape(inputs[other], rows.shape)
            y = replace(product, plus=True)(*rows.node.inputs, plus)
            return reshape(y, node.outputs[0].shape)


def rows_of(tensor, now, uses):
    """Returns, in the new graph, the tensor that `tensor` is a reshape of.

    None if something else reads one of them.
    """
    while tensor.node is not None and once(tensor, uses):
        if not isinstance(tensor.node.op, ReshapeOp):
            return now
        tensor, now = tensor.node.inputs[0], now.node.inputs[0]


def gradient_of_gelu(node, inputs, uses):
    """Fuses a product with gelu's slope."""
    if isinstance(node.op, GeluGradOp) and node.op.approximate and once(node.inputs[0], uses):
        before = inputs[0].node
        product = EpilogueProductOp.of(before)
        if product is not None and product.bare and product.dtype == inputs[1].spec.dtype:
            return replace(product, activation=node.op)(*before.inputs, inputs[1])


RULES = (bias_and_activation, cast_of_product, add_to_product, gradient_of_gelu)


def with_second_outputs(graph):
    """Merges products with other results of the same numbers: one node for both."""
    pairs, new = pairs_of(graph), {}
    for node in graph.nodes:
        if node.outputs[0] in new:
            continue
        if node in pairs:
            first, second, product = pairs[node]
            with scope(first.scope):
                outputs = product(*(new.get(t, t) for t in first.inputs))
            both = second.outputs[0], first.outputs[0]
            new.update(zip(both if product.before else both[::-1], outputs, strict=True))
            continue
        with scope(node.scope):
            results = apply_first((), node, [new.get(t, t) for t in node.inputs], None)
        new.update(zip(node.outputs, results, strict=True))
    return Graph(graph.inputs, {name: new.get(t, t) for name, t in graph.outputs.items()})


def pairs_of(graph):
    """Returns {either node: (product, the other, EpilogueProductOp)}.

    All inputs of the product precede both. The pairs are gelu of a product that gelu's gradient
    reads too, and sums over the rows of a gradient, if it is a product times gelu's slope or a
    factor in the product for the weights' gradient.
    """
    readers, place, pairs = {}, {node: i for i, node in enumerate(graph.nodes)}, {}
    for node in graph.nodes:
        if (isinstance(node.op, GeluOp) and node.op.approximate) or is_sum_of_rows(node):
            readers[node.inputs[0]] = node
    for node in graph.nodes:
        product, after = EpilogueProductOp.of(node), readers.get(node.outputs[0])
        if product is None:
            continue
        if after is not None and isinstance(after.op, GeluOp) and product.activation is None:
            pairs[node] = node, after, replace(product, activation=after.op, before=True)
        elif after is not None and isinstance(product.activation, GeluGradOp):
            if after.outputs[0].spec.dtype == product.dtype:
                pairs[node] = node, after, replace(product, sums=True)
        elif product.bare and product.product == MatMulOp(True, False):
            total = readers.get(node.inputs[1])
            if total is None or total in pairs or not is_sum_of_rows(total):
                continue
            known = all(place.get(t.node, -1) < place[total] for t in node.inputs)
            if known and total.outputs[0].spec.dtype == product.dtype:
                pairs[node] = pairs[total] = node, total, replace(product, sums=True)
    return pairs


def is_sum_of_rows(node):
    op = node.op
    return (
        isinstance(op, SumOp) and op.axes == (0,) and not op.keepdims and node.inputs[0].ndim == 2
    )
