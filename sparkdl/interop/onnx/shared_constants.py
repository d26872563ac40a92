"""Which layers of a graph have the same constants of the file."""

import logging

import numpy as np

from sparkdl.nn import layers as nn

log = logging.getLogger(__name__)


class SharedConstants:
    """The layers so far that have constants, by the operation and what it reads."""

    def __init__(self):
        self.owners, self.readers = {}, {}

    def owner_of(self, key, step):
        """Returns the layer that has the arrays of a Step already; None where they are new.

        Parameters
        ----------
        key : hashable
            Of the operation and the constants that it reads.
        step : Step
        """
        name, known = self.owners.get(key, (None, None))
        return name if known is not None and is_same(step, known) else None

    def note(self, key, step, name, constants):
        """Notes the layer that has the arrays of a Step, which come from constants.

        Arrays of one value are not noted, but always new: exporters merge those of separate
        layers, as the ones and zeros of norms.
        """
        if is_uniform(step):
            return
        self.owners.setdefault(key, (name, step))
        if isinstance(step.layer, nn.Frozen):
            return
        for constant in constants:
            self.readers.setdefault(constant, set()).add(name)

    def warn(self, path):
        """Names the constants of which several layers have copies."""
        copied = [name for name, readers in self.readers.items() if len(readers) > 1]
        if copied:
            log.warning(
                "%s: constants that several operations read in other ways are copies in the "
                "network, which training moves apart: %s",
                path,
                ", ".join(copied),
            )


def is_uniform(step):
    """Returns whether each array of a Step has one value all over."""
    return all((array == array.flat[0]).all() for array in step.weights.values())


def is_same(step, other):
    """Returns whether two Steps are of one kind of layer and have equal arrays."""
    alike = type(step.layer) is type(other.layer) and step.weights.keys() == other.weights.keys()
    return alike and all(np.array_equal(x, other.weights[n]) for n, x in step.weights.items())
