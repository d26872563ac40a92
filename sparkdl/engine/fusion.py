"""Graph rewriting: several operations become one that a backend runs in one pass.

A rule is a function `rule(node, inputs, uses)` of a node, its rewritten inputs, and the number of
readers of each tensor. It returns the tensors that replace the outputs of the node, or None.
"""

from dataclasses import dataclass
from operator import is_

from sparkdl.engine.graph import Graph, scope
from sparkdl.engine.ops.activation import EluOp, LeakyReluOp, ReluOp, SigmoidOp, TanhOp
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.gelu import GeluOp
from sparkdl.engine.ops.matmul import AddBiasOp, MatMulOp
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvOp

ACTIVATIONS = (EluOp, GeluOp, LeakyReluOp, ReluOp, SigmoidOp, TanhOp)


@register
@dataclass(frozen=True)
class BiasActivationOp(Op):
    """A product or convolution with its bias and an optional activation, in one kernel.

    Shapes
    ------
    x, w as `product` takes them, b (units,)
    """

    product: Op
    bias: Op
    activation: Op | None = None

    @property
    def label(self):
        parts = [self.product, self.bias, self.activation]
        return "+".join(p.kind for p in parts if p is not None)

    def shape(self, x, w, b):
        return self.bias.shape(self.product.shape(x, w), b)

    def decompose(self, x, w, b):
        y = self.bias(self.product(x, w), b)
        return y if self.activation is None else self.activation(y)


def bias_into_product(node, inputs, uses):
    """Fuses product + bias if nothing else reads the product."""
    if isinstance(node.op, AddBiasOp) and once(node.inputs[0], uses):
        before = inputs[0].node
        if before is not None and isinstance(before.op, MatMulOp | ConvOp | ConvGradInputOp):
            return BiasActivationOp(before.op, node.op)(*before.inputs, inputs[1])


def activation_into_bias(node, inputs, uses):
    """Fuses (product + bias) + activation if nothing else reads the sum."""
    if isinstance(node.op, ACTIVATIONS) and once(node.inputs[0], uses):
        before = inputs[0].node
        fused = before.op if before is not None else None
        if isinstance(fused, BiasActivationOp) and fused.activation is None:
            return BiasActivationOp(fused.product, fused.bias, node.op)(*before.inputs)


RULES = (bias_into_product, activation_into_bias)


def once(tensor, uses):
    return tensor.node is not None and uses[tensor] == 1


def fuse(graph, rules=RULES):
    """Applies every rule wherever it fits, from inputs to outputs.

    Returns the graph itself if no rule fits, as with most rewrites of most programs.
    """
    uses, new = graph.uses(), {}
    with scope("") as current:
        for node in graph.nodes:
            current.rename(node.scope)
            inputs = [new.get(t, t) for t in node.inputs] if new else [*node.inputs]
            results = apply_first(rules, node, inputs, uses)
            if results is not node.outputs:
                new.update(zip(node.outputs, results, strict=True))
    if not new:
        return graph
    outputs = {name: new.get(t, t) for name, t in graph.outputs.items()}
    return Graph(graph.inputs, outputs)


def apply_first(rules, node, inputs, uses):
    for rule in rules:
        result = rule(node, inputs, uses)
        if result is not None:
            return result if isinstance(result, tuple) else (result,)
    if all(map(is_, inputs, node.inputs)):
        return node.outputs
    result = node.op(*inputs)
    return result if isinstance(result, tuple) else (result,)
