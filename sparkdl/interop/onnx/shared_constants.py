"""Layers of a graph that share constants of the file."""

import logging

import numpy as np

from sparkdl.nn import layers as nn

log = logging.getLogger(__name__)


class SharedConstants:
    """The layers with constants so far, by their operation and constants."""

    def __init__(self):
        self.owners, self.readers = {}, {}

    def owner_of(self, key, step):
        """Returns the layer that already has the arrays of a Step; None if they are new.

        Parameters
        ----------
        key : hashable
            Of the operation and the constants that it reads.
        step : Step
        """
        name, known = self.owners.get(key, (None, None))
        return name if known is not None and is_same(step, known) else None

    def note(self, key, step, name, constants):
        """Records the layer that has the arrays of a Step, which come from constants.

        Arrays with one value throughout are never shared: exporters merge those of separate layers,
        such as the ones and zeros of norms.
        """
        if is_uniform(step):
            return
        self.owners.setdefault(key, (name, step))
        if isinstance(step.layer, nn.Frozen):
            return
        for constant in constants:
            self.readers.setdefault(constant, set()).add(name)

    def warn(self, path):
        """Warns of constants that several layers have copies of."""
        copied = [name for name, readers in self.readers.items() if len(readers) > 1]
        if copied:
            log.warning(
                "%s: constants that several operations read in different layouts become copies, "
                "which are trained separately: %s",
                path,
                ", ".join(copied),
            )


def is_uniform(step):
    """Returns whether each array of a Step has one value throughout."""
    return all((array == array.flat[0]).all() for array in step.weights.values())


def is_same(step, other):
    """Returns whether two Steps have layers of the same type and equal arrays."""
    alike = type(step.layer) is type(other.layer) and step.weights.keys() == other.weights.keys()
    return alike and all(np.array_equal(x, other.weights[n]) for n, x in step.weights.items())
