"""Recurrent nodes as single oneDNN primitives, with a workspace for their gradients."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.backends.onednn.lowerings import recurrent
from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.errors import UnsupportedError


@dataclass(frozen=True)
class WithWorkspaceOp(Op):
    """(y, last states ..., workspace bytes opaque outside oneDNN) of the inputs of `forward`.

    If no gradient is needed, `workspace` is 0 and that output is missing.
    """

    forward: RecurrentOp
    workspace: int

    @property
    def label(self):
        return self.forward.kind

    def shape(self, *inputs):
        workspaces = [Spec((self.workspace,), "uint8")] if self.workspace else []
        return *self.forward.shape(*inputs)[:-1], *workspaces

    def reference(self, *inputs):
        workspaces = [np.zeros(self.workspace, np.uint8)] if self.workspace else []
        return *self.forward.reference(*inputs)[:-1], *workspaces

    def flops(self, *inputs):
        return self.forward.flops(*inputs)


@dataclass(frozen=True)
class FromWorkspaceOp(Op):
    """A RecurrentGradOp that reads y, last states and the workspace instead of `saved`."""

    forward: RecurrentOp

    @property
    def label(self):
        return f"{self.forward.kind}Grad"

    def parts(self, args):
        """Returns gradients of the outputs, inputs, outputs, workspace."""
        count = 1 + self.forward.states
        return args[:count], args[count : -count - 1], args[-count - 1 : -1], args[-1]

    def shape(self, *args):
        gys, inputs, _, _ = self.parts(args)
        return RecurrentGradOp(self.forward).shape(*gys, *inputs, None)

    def reference(self, *args):
        gys, inputs, _, _ = self.parts(args)
        saved = self.forward.reference(*inputs)[-1]
        return RecurrentGradOp(self.forward).reference(*gys, *inputs, saved)

    def flops(self, *args):
        return 2 * self.forward.flops(*self.parts(args)[1])


def with_workspaces(session, graph):
    """Replaces recurrent nodes and their gradients by oneDNN's if they fit."""
    taken, seen = {}, read_elsewhere(graph)

    def rule(node, inputs, uses):
        if isinstance(node.op, RecurrentOp) and node.outputs[-1] not in seen:
            size = workspace(session, node)
            if size is not None:
                needed = uses.get(node.outputs[-1], 0) > 0
                taken[node] = WithWorkspaceOp(node.op, size * needed)(*inputs)
                return taken[node] if needed else (*taken[node], None)
        if isinstance(node.op, RecurrentGradOp) and node.inputs[-1].node in taken:
            forward = taken[node.inputs[-1].node]
            return FromWorkspaceOp(node.op.forward)(*inputs[:-1], *forward)

    return fuse(graph, (rule,))


def read_elsewhere(graph):
    """Returns the tensors read by other nodes than RecurrentGradOps, or graph outputs."""
    others = (node for node in graph.nodes if not isinstance(node.op, RecurrentGradOp))
    return {t for node in others for t in node.inputs} | set(graph.outputs.values())


def workspace(session, node):
    """Returns the workspace bytes of a node's primitive, or None if oneDNN does not support it."""
    op, tensors = node.op, (*node.inputs, *node.outputs)
    if op.keep or op.mask or getattr(op, "slope", None) is not None:
        return None
    if any(t.dtype != np.float32 or 0 in t.shape for t in tensors):
        return None
    inputs, outputs = (
        [np.empty(t.shape, t.dtype) for t in ts] for ts in (node.inputs, node.outputs)
    )
    try:
        pd = recurrent.forward_pd(session, op, inputs, outputs[:-1])
    except UnsupportedError:
        return None
    return session.size(session.query(pd, "workspace"))


def forward(session, op, inputs, outputs):
    count = 1 + op.forward.states
    return recurrent.forward(session, op.forward, inputs, outputs[:count], *outputs[count:])


def backward(session, op, inputs, outputs):
    return recurrent.backward(session, op.forward, *op.parts(inputs), outputs)
