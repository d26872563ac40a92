"""Both directions of a recurrent layer in parallel, a thread each.

A step of a sequence is too little work to split, and depends on the one before. The two directions
are independent: on two threads they take the time of one.
"""

from collections import defaultdict
from dataclasses import dataclass

from sparkdl.engine.backends.onednn.node_time import steps_are_small
from sparkdl.engine.backends.onednn.rewrites.recurrent_workspace import (
    FromWorkspaceOp,
    WithWorkspaceOp,
)
from sparkdl.engine.fusion import apply_first
from sparkdl.engine.graph import Graph, scope
from sparkdl.engine.native.threads import pool
from sparkdl.engine.ops.base import Op


@dataclass(frozen=True)
class SideBySideOp(Op):
    """The outputs of two operations on the inputs of both; the first has `count` inputs."""

    first: Op
    second: Op
    count: int

    @property
    def label(self):
        return f"{self.first.label} | {self.second.label}"

    def parts(self, inputs):
        """Returns ((operation, its inputs), (the other, its inputs))."""
        return (self.first, inputs[: self.count]), (self.second, inputs[self.count :])

    def shape(self, *inputs):
        return tuple(spec for op, own in self.parts(inputs) for spec in op.shape(*own))

    def reference(self, *inputs):
        return tuple(array for op, own in self.parts(inputs) for array in op.reference(*own))

    def flops(self, *inputs):
        return sum(op.flops(*own) for op, own in self.parts(inputs))


def pair_directions(graph):
    """Merges the two directions of each recurrent layer into one node.

    With more than two threads, only layers whose steps would run on one thread anyway are merged.
    """
    team = pool()
    size = 1 if team is None else team.get_size()
    partners = {} if size == 1 else find_partners(graph, any_size=size == 2)
    return join(graph, partners) if partners else graph


def find_partners(graph, any_size):
    """Returns {node: node of the other direction of its layer}, in both directions."""
    by_layer, partners = defaultdict(list), {}
    for node in graph.nodes:
        if isinstance(node.op, WithWorkspaceOp | FromWorkspaceOp) and (
            any_size or steps_are_small(node)
        ):
            by_layer[type(node.op), sequence_of(node)].append(node)
    for nodes in by_layer.values():
        if len(nodes) == 2 and len({node.op.forward.backwards for node in nodes}) == 2:
            first, second = nodes
            partners |= {first: second, second: first}
    return partners


def sequence_of(node):
    """Returns the sequence that a recurrent node, or the node of its gradient, processes."""
    inputs = node.op.parts(node.inputs)[1] if isinstance(node.op, FromWorkspaceOp) else node.inputs
    return inputs[0]


def join(graph, partners):
    """Merges partners into one node each, unless they depend on each other."""
    new, waiting = {}, list(graph.nodes)
    while waiting:
        before = len(waiting)
        waiting = [node for node in waiting if not add(node, partners, new)]
        if len(waiting) == before:
            partners = {}
    outputs = {name: new.get(tensor, tensor) for name, tensor in graph.outputs.items()}
    return Graph(graph.inputs, outputs)


def add(node, partners, new):
    """Recreates a node, with its partner, on tensors in `new`; returns False if any is missing."""
    nodes = (node, partners[node]) if node in partners else (node,)
    if node.outputs[0] in new:  # already created with its partner
        return True
    needed = [tensor for one in nodes for tensor in one.inputs]
    if any(tensor.node is not None and tensor not in new for tensor in needed):
        return False
    inputs = [new.get(tensor, tensor) for tensor in needed]
    with scope(node.scope):
        if len(nodes) == 1:
            results = apply_first((), node, inputs, None)
        else:
            results = SideBySideOp(*(one.op for one in nodes), len(node.inputs))(*inputs)
    new.update(zip([t for one in nodes for t in one.outputs], results, strict=True))
    return True
