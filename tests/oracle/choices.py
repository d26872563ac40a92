"""Sources of random choices: Hypothesis, which can shrink them, or a seeded generator."""

import random

from hypothesis import strategies as st


class Choices:
    """Base class: subclasses draw `integer`, all else derives from it. Small numbers are simple."""

    def integer(self, low, high):
        """Draws an integer in [low, high]."""
        raise NotImplementedError

    def pick(self, options):
        """Draws one of `options`; the first is the simplest."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, share):
        """Returns True with probability `share`."""
        return self.integer(0, 99) >= 100 - round(100 * share)


class Seeded(Choices):
    """Choices of a seeded generator, reproducible."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def integer(self, low, high):
        return self._random.randint(low, high)


class Shrinking(Choices):
    """Choices drawn by Hypothesis."""

    def __init__(self, draw):
        self._draw = draw

    def integer(self, low, high):
        return self._draw(st.integers(low, high))
