"""Several nodes of a graph, not all neighbors in its order, become one."""

from collections.abc import Callable
from dataclasses import dataclass

from sparkdl.engine.graph import Graph, scope, topological


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are made at once.

    Parameters
    ----------
    nodes : of the graph
    reads : tensors that are read, none of them made by `nodes`
    make : function (the new tensors for `reads`) -> {tensor that `nodes` made: new tensor}
    """

    nodes: tuple
    reads: tuple
    make: Callable

    @property
    def is_closed(self):
        """True if nothing that is read needs what the group makes."""
        return not set(self.nodes) & set(topological(self.reads))


def replace_groups(graph, groups):
    """Returns the graph with each group as what it makes.

    A node comes once all is there that it reads.
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
    """Returns {tensor of a node or its group: new tensor}"""
    with scope(node.scope):
        if group is not None:
            return group.make(*reads)
        if all(a is b for a, b in zip(reads, node.inputs, strict=True)):
            return dict(zip(node.outputs, node.outputs, strict=True))
        results = node.op(*reads)
    results = results if isinstance(results, tuple) else (results,)
    return dict(zip(node.outputs, results, strict=True))
