"""The gradient of a cross entropy as one node, without a softmax in memory."""

from sparkdl.engine.backends.cuda.lowerings.softmax import CrossEntropyGradOp
from sparkdl.engine.dtypes import is_narrow
from sparkdl.engine.fusion import fuse, once
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.elementwise import MulOp, SubOp
from sparkdl.engine.ops.softmax import OneHotOp, SoftmaxOp


def fuse_cross_entropy(graph):
    """Returns the graph with each gy (softmax(logits) - one_hot(labels)) as one node."""
    return fuse(graph, (rule,))


def rule(node, inputs, uses):
    if not isinstance(node.op, MulOp) or node.outputs[0].ndim != 2:
        return None
    for index in (0, 1):
        found = distance_of(node.inputs[1 - index], inputs[1 - index], uses)
        gy, z = inputs[index], node.outputs[0]
        if found and gy.spec == Spec((z.shape[0], 1), z.spec.dtype) and found[0].spec == z.spec:
            return CrossEntropyGradOp()(*found, gy)
    return None


def distance_of(tensor, now, uses):
    """Returns (logits, labels) of softmax(logits) - one_hot(labels) if nothing else reads it."""
    node = now.node
    if node is None or not isinstance(node.op, SubOp) or not once(tensor, uses):
        return None
    left, right = (t.node for t in node.inputs)
    matches = left and right and isinstance(left.op, SoftmaxOp) and isinstance(right.op, OneHotOp)
    if not matches or is_narrow(now.dtype):
        return None
    logits, labels = left.inputs[0], right.inputs[0]
    alike = labels.shape == logits.shape[:1] and right.op.classes == logits.shape[-1]
    whole = logits.ndim == 2 and labels.dtype.kind in "iu"
    return (logits, labels) if alike and whole else None
