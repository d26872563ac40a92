"""Replacement of several nodes of a graph, not all adjacent in its order, by one."""

from collections.abc import Callable
from dataclasses import dataclass

from sparkdl.engine.graph import Graph, scope, topological


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are replaced together.

    Parameters
    ----------
    nodes : nodes of the graph
    reads : tensors read, none of them computed by `nodes`
    make : function (new tensors for `reads`) -> {tensor that `nodes` computed: new tensor}
    """

    nodes: tuple
    reads: tuple
    make: Callable

    @property
    def is_closed(self):
        """Whether nothing the group reads depends on its own results."""
        return not set(self.nodes) & set(topological(self.reads))


def replace_groups(graph, groups):
    """Returns the graph with each group replaced.

    A node follows once everything it reads exists.
    """
    of = {node: group for group in groups for node in group.nodes}
    new, waiting = {}, graph.nodes
    while waiting:
        late = []
        for node in waiting:
            group = of.get(node)
            reads = node.inputs if group is None else group.reads
            if any(t.node is not None and t not in new for t in reads):
                late.append(node)
            elif group is None or node is group.nodes[0]:
                new |= rebuild_node(node, group, [new.get(t, t) for t in reads])
        if len(late) == len(waiting):
            raise AssertionError(f"nodes wait for each other: {late}")
        waiting = late
    return Graph(graph.inputs, {name: new.get(t, t) for name, t in graph.outputs.items()})


def rebuild_node(node, group, reads):
    """Returns {tensor of a node or its group: new tensor}."""
    with scope(node.scope):
        if group is not None:
            return group.make(*reads)
        if all(a is b for a, b in zip(reads, node.inputs, strict=True)):
            return dict(zip(node.outputs, node.outputs, strict=True))
        results = node.op(*reads)
    results = results if isinstance(results, tuple) else (results,)
    return dict(zip(node.outputs, results, strict=True))
