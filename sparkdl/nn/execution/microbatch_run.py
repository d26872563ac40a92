"""A microbatch in a stage, between its forward and its backward pass."""

import numpy as np


class KeptActivations:
    """Keeps activations, in the memory of a program per microbatch.

    Parameters
    ----------
    program : TwoPartProgram
    """

    def __init__(self, program):
        self.program = program

    def begin(self, feeds):
        """Runs the forward pass; returns {output: array}."""
        return self.program.begin(taken_by(self.program, feeds))

    def finish(self, feeds):
        """Runs the backward pass; returns {output: array}."""
        return self.program.finish(taken_by(self.program, feeds))


class RecomputedActivations:
    """Keeps only the inputs and recomputes activations in the backward pass.

    All microbatches of a shape share the two programs.

    Parameters
    ----------
    forward, back : TwoPartProgram
    """

    def __init__(self, forward, back):
        self.forward, self.back, self._feeds = forward, back, {}

    def begin(self, feeds):
        """Runs the forward pass; returns {output: array}."""
        self._feeds = {name: np.array(x) for name, x in feeds.items()}
        return self.forward.begin(taken_by(self.forward, self._feeds))

    def finish(self, feeds):
        """Runs the backward pass; returns {output: array}."""
        feeds, self._feeds = self._feeds | feeds, {}
        return self.back.begin(taken_by(self.back, feeds))


def taken_by(program, feeds):
    """Returns the feeds that a program takes."""
    return {name: x for name, x in feeds.items() if name in program.inputs}
