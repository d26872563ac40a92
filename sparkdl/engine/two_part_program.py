"""A program that stops where it needs inputs that come later, and goes on when they are there."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.program import Program


class TwoPartProgram(Program):
    """A Program that has two parts: the second begins with the first call that needs a late input.

    Between `begin` and `finish` anything may happen but another `begin`: what the second part needs
    of the first stays where it is.

    Parameters
    ----------
    graph, backend, bindings
        As Program takes them; the backend is one of a processor. Late inputs are read through
        `wait_for`, so that no kernel does the work of both parts.
    late : names of inputs
    """

    def __init__(self, graph, backend, bindings=None, late=()):
        super().__init__(graph, backend, bindings)
        self._late_names = frozenset(late)
        self._late = late_tensors(self.graph, self._late_names)
        calls, half = [step.call for step in self.steps], self._length_of_first()
        self._parts = [self.backend.in_sequence(part) for part in (calls[:half], calls[half:])]
        self._calls = [call for part in self._parts for call in part]

    def _length_of_first(self):
        """Returns the number of steps before the first late one; all where none is."""
        late = (not self._late.isdisjoint(s.node.inputs) for s in self.steps if s.node is not None)
        return next((i for i, is_late in enumerate(late) if is_late), len(self.steps))

    @property
    def early_outputs(self):
        """Names of the outputs that are there, where they belong, after `begin`."""
        steps = self.steps[: self._length_of_first()]
        written = {id(array) for step in steps for array in step.writes}
        views = self.plan.roots.keys() - self._late | set(self.graph.inputs.values()) - self._late
        outputs = self.graph.outputs.items()
        return frozenset(n for n, t in outputs if id(self.targets[n]) in written or t in views)

    def begin(self, feeds):
        """Computes the first part, given all inputs but the late ones; returns the outputs."""
        return self._run_part(0, feeds, self._feeds.keys() - self._late_names)

    def finish(self, feeds):
        """Computes the second part, given the late inputs; returns the outputs."""
        return self._run_part(1, feeds, self._feeds.keys() & self._late_names)

    def _run_part(self, index, feeds, names):
        with np.errstate(all="ignore"):  # an overflow shows in the loss, which the caller reads
            self._feed(feeds, names)
            self._call_all(self._parts[index])
        return self.outputs


def wait_for(tensor, others):
    """Returns a late input, as those may read it who come behind all of `others`."""
    return ops.barrier(tensor, *others)


def late_tensors(graph, names):
    """Returns the tensors of a graph that depend on the inputs of these names."""
    late = {graph.inputs[name] for name in names}
    for node in graph.nodes:
        if not late.isdisjoint(node.inputs):
            late.update(node.outputs)
    return late
