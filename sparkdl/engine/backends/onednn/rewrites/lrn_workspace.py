"""Local response normalization that keeps oneDNN's intermediate results for the gradient."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.backends.onednn.rewrites import slow_gradients
from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.spatial.lrn import LocalOp, LrnGradOp, LrnOp


@dataclass(frozen=True)
class LrnWithWorkspaceOp(LocalOp):
    """(y, a workspace of two numbers per number of x, opaque outside oneDNN)."""

    def shape(self, x):
        return x, Spec((2 * x.shape[0], *x.shape[1:]), x.dtype)

    def reference(self, x):
        return LrnOp(*self.options()).decompose(x), np.zeros((2 * len(x), *x.shape[1:]), x.dtype)


@dataclass(frozen=True)
class LrnFromWorkspaceOp(LocalOp):
    """gx from gy, x, y and the workspace; numpy does not need the latter two."""

    def shape(self, gy, x, y, workspace):
        return x

    def reference(self, gy, x, y, workspace):
        return LrnGradOp(*self.options()).decompose(gy, x)


def share_lrn_workspaces(session, graph):
    """Makes each LrnGradOp read the workspace of its LrnOp if oneDNN has a kernel."""
    needed = {
        (n.op.options(), n.inputs[1])
        for n in graph.nodes
        if isinstance(n.op, LrnGradOp) and slow_gradients.has_kernel(session, n.op, n.inputs[1])
    }
    workspaces = {}

    def rule(node, inputs, uses):
        if not isinstance(node.op, LrnOp | LrnGradOp):
            return None
        options, x = node.op.options(), node.inputs[-1]
        if isinstance(node.op, LrnOp) and (options, x) in needed:
            workspaces[options, x] = LrnWithWorkspaceOp(*options)(*inputs)
            return workspaces[options, x][0]
        if isinstance(node.op, LrnGradOp) and (options, x) in workspaces:
            return LrnFromWorkspaceOp(*options)(*inputs, *workspaces[options, x])

    return fuse(graph, (rule,)) if needed else graph
