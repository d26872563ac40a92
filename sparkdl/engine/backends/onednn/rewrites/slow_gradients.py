"""Decomposition of gradients for which there is no fast kernel.

On processors without AVX-512 oneDNN has none for softmax and local response normalization. That of
softmax cross entropy is compiled, for float32.
"""

import numpy as np

from sparkdl.engine.backends.onednn.arena_layout import empty_like
from sparkdl.engine.backends.onednn.binding.api import TYPES
from sparkdl.engine.backends.onednn.lowerings import lrn, softmax
from sparkdl.engine.fusion import fuse
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, SoftmaxCrossEntropyGradOp, SoftmaxGradOp
from sparkdl.engine.ops.spatial.lrn import LrnGradOp
from sparkdl.errors import UnsupportedError

LOWERINGS = {LrnGradOp: lrn, SoftmaxGradOp: softmax, LogSoftmaxGradOp: softmax}


def take_apart(session, compiler, graph):
    """Replaces such nodes by simpler ones with compiled loops."""

    def rule(node, inputs, uses):
        if isinstance(node.op, SoftmaxCrossEntropyGradOp):
            fast = compiler is not None and inputs[1].dtype == np.float32
            return None if fast else node.op.decompose(*inputs)
        slow = type(node.op) in LOWERINGS and inputs[0].dtype == np.float32
        if slow and not has_kernel(session, node.op, inputs[-1]):
            return node.op.decompose(*inputs)
        return None

    return fuse(graph, (rule,))


def has_kernel(session, op, x):
    """Returns whether oneDNN has fast kernels for a gradient and its forward pass, for x."""
    if x.dtype.name not in TYPES or 0 in x.shape:
        return False
    try:
        names = LOWERINGS[type(op)].implementations(session, op, empty_like(x))
    except UnsupportedError:
        return False
    return not any(name.startswith("ref") for name in names)
