"""A microbatch in a stage, between its way forward and its way back."""

import numpy as np


class KeptActivations:
    """Its activations stay in the memory of a program of its own.

    Parameters
    ----------
    program : TwoPartProgram
    """

    def __init__(self, program):
        self.program = program

    def begin(self, feeds):
        """Takes the microbatch forward; returns {output: array}."""
        return self.program.begin(taken_by(self.program, feeds))

    def finish(self, feeds):
        """Takes its gradients back; returns {output: array}."""
        return self.program.finish(taken_by(self.program, feeds))


class RecomputedActivations:
    """Its inputs are kept alone: on the way back its activations are computed again.

    All microbatches of a shape share the two programs.

    Parameters
    ----------
    forward, back : TwoPartProgram
    """

    def __init__(self, forward, back):
        self.forward, self.back, self._feeds = forward, back, {}

    def begin(self, feeds):
        """Takes the microbatch forward; returns {output: array}."""
        self._feeds = {name: np.array(x) for name, x in feeds.items()}
        return self.forward.begin(taken_by(self.forward, self._feeds))

    def finish(self, feeds):
        """Takes its gradients back; returns {output: array}."""
        feeds, self._feeds = self._feeds | feeds, {}
        return self.back.begin(taken_by(self.back, feeds))


def taken_by(program, feeds):
    """Returns those of the feeds that a program takes."""
    return {name: x for name, x in feeds.items() if name in program.inputs}
