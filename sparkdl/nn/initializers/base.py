"""Base of all initializers, which draw the initial values of a parameter."""

import numpy as np

from sparkdl.config import Member, dataclass
from sparkdl.nn.hints import Shape


@dataclass(frozen=True, kw_only=True)
class Initializer(Member):
    """Base of all initializers."""

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        """Returns an array of `shape`, any float type.

        Parameters
        ----------
        shape : tuple of int
        fans : (int, int)
            Inputs that reach one output of the layer, and outputs that one input reaches.
        rng : numpy.random.Generator
        """
        raise NotImplementedError
