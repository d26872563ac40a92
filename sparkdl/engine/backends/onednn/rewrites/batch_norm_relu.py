"""Fusion of batch normalization and the ReLU after it, forward and backward.

Separately, they read and write the activations once more in each pass, on a CPU a third of their
time.
"""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.activation import ReluGradOp, ReluOp, relu, relu_grad
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp, NormalizeOp, PerChannelOp


@dataclass(frozen=True)
class BatchNormReluOp(PerChannelOp):
    """(relu(y), mean, variance, signs) of a BatchNormOp; the signs of y are in oneDNN's format."""

    def shape(self, x, gamma, beta):
        y, mean, variance = BatchNormOp(self.epsilon).shape(x, gamma, beta)
        return y, mean, variance, Spec((-(-x.size // 8),), "uint8")

    def reference(self, x, gamma, beta):
        y, mean, variance = BatchNormOp(self.epsilon).reference(x, gamma, beta)
        return np.maximum(y, 0), mean, variance, np.zeros(-(-x.size // 8), np.uint8)


@dataclass(frozen=True)
class BatchNormReluGradOp(PerChannelOp):
    """(gx, ggamma, gbeta) from gy, x, gamma, beta, mean, variance, relu(y) and the signs of y."""

    def shape(self, gy, x, gamma, beta, mean, variance, y, signs):
        return x, gamma, gamma

    def reference(self, gy, x, gamma, beta, mean, variance, y, signs):
        grad = BatchNormGradOp(self.epsilon)
        return grad.reference(relu_grad.reference(gy, y), x, gamma, mean, variance)


@dataclass(frozen=True)
class NormalizeReluOp(PerChannelOp):
    """relu(y) of a NormalizeOp."""

    def shape(self, *specs):
        return NormalizeOp(self.epsilon).shape(*specs)

    def decompose(self, *inputs):
        return relu(NormalizeOp(self.epsilon)(*inputs))


def in_use(node, inputs, uses):
    """Fuses a NormalizeOp with a ReLU that is its only reader."""
    if isinstance(node.op, ReluOp) and once(node.inputs[0], uses):
        before = inputs[0].node
        if isinstance(before.op, NormalizeOp):
            return NormalizeReluOp(before.op.epsilon)(*before.inputs)


def fuse_relus(graph):
    """Fuses each BatchNormOp with a ReLU that is its only reader, and their gradients."""
    uses = graph.uses()
    relus = {n.inputs[0].node: n for n in graph.nodes if follows_alone(n, uses)}
    rectified, fused = set(relus.values()), {}

    def rule(node, inputs, uses):
        if node in relus:
            fused[node] = BatchNormReluOp(node.op.epsilon)(*inputs)
            return fused[node][:3]
        if node in rectified:
            return inputs[0]  # already rectified
        norm = find_fused(node, relus, uses)
        if norm is not None:
            gy = inputs[0].node.inputs[0]
            y, mean, variance, signs = fused[norm]
            gamma, beta = y.node.inputs[1:]
            values = gy, inputs[1], gamma, beta, mean, variance, y, signs
            return BatchNormReluGradOp(node.op.epsilon)(*values)

    return fuse(graph, (in_use, rule))


def follows_alone(node, uses):
    """Returns whether a node is a ReLU and the only reader of the y of a BatchNormOp."""
    y = node.inputs[0] if isinstance(node.op, ReluOp) else None
    normed = y is not None and y.node is not None and isinstance(y.node.op, BatchNormOp)
    return normed and y.index == 0 and uses[y] == 1


def find_fused(node, relus, uses):
    """Returns the fused BatchNormOp node whose gradient, through the ReLU, `node` is, or None."""
    if not isinstance(node.op, BatchNormGradOp):
        return None
    gate, norm = node.inputs[0].node, node.inputs[3].node
    if gate is None or not isinstance(gate.op, ReluGradOp) or uses[node.inputs[0]] > 1:
        return None
    same = norm in relus and gate.inputs[1] is relus[norm].outputs[0]
    return norm if same and node.inputs[1] is norm.inputs[0] else None
