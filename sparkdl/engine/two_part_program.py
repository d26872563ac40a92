"""A program that pauses until late inputs arrive."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.program import Program


class TwoPartProgram(Program):
    """A Program in two parts: the second begins with the first call that needs a late input.

    Between `begin` and `finish`, anything except another `begin` may happen: the first part's
    results for the second stay in place.

    Parameters
    ----------
    graph, backend, bindings
        As for Program; the backend must be one of a processor. Late inputs are read through
        `wait_for`, so that no kernel spans both parts.
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
        """Returns the number of steps before the first with a late input; all if there is none."""
        late = (not self._late.isdisjoint(s.node.inputs) for s in self.steps if s.node is not None)
        return next((i for i, is_late in enumerate(late) if is_late), len(self.steps))

    @property
    def early_outputs(self):
        """Names of the outputs that are complete after `begin`."""
        steps = self.steps[: self._length_of_first()]
        written = {id(array) for step in steps for array in step.writes}
        views = self.plan.roots.keys() - self._late | set(self.graph.inputs.values()) - self._late
        outputs = self.graph.outputs.items()
        return frozenset(n for n, t in outputs if id(self.targets[n]) in written or t in views)

    def begin(self, feeds):
        """Runs the first part, given all inputs but the late ones; returns the outputs."""
        return self._run_part(0, feeds, self._feeds.keys() - self._late_names)

    def finish(self, feeds):
        """Runs the second part, given the late inputs; returns the outputs."""
        return self._run_part(1, feeds, self._feeds.keys() & self._late_names)

    def _run_part(self, index, feeds, names):
        with np.errstate(all="ignore"):  # an overflow shows in the loss, which the caller checks
            self._feed(feeds, names)
            self._call_all(self._parts[index])
        return self.outputs


def wait_for(tensor, others):
    """Returns a late input that is not read before all of `others` are computed."""
    return ops.barrier(tensor, *others)


def late_tensors(graph, names):
    """Returns the tensors of a graph that depend on the named inputs."""
    late = {graph.inputs[name] for name in names}
    for node in graph.nodes:
        if not late.isdisjoint(node.inputs):
            late.update(node.outputs)
    return late
