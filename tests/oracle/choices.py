"""Sources of choices: Hypothesis, which can shrink them, or a plain generator with a seed."""

import random

from hypothesis import strategies as st


class Choices:
    """Base: `integer` is drawn by a subclass, all else is made of it. Small numbers are simple."""

    def integer(self, low, high):
        """A whole number in [low, high]."""
        raise NotImplementedError

    def pick(self, options):
        """One of `options`; the first is the simplest."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, share):
        """True with probability `share`."""
        return self.integer(0, 99) >= 100 - round(100 * share)


class Seeded(Choices):
    """Choices of a generator: the same for the same seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def integer(self, low, high):
        return self._random.randint(low, high)


class Shrinking(Choices):
    """Choices of Hypothesis."""

    def __init__(self, draw):
        self._draw = draw

    def integer(self, low, high):
        return self._draw(st.integers(low, high))
