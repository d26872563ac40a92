"""Predictors: models as functions of named arrays."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]


class ArraySpec(NamedTuple):
    """Type and shape of one example of an input or output.

    Parameters
    ----------
    dtype : str
        Of numpy: "float32", "int64" ...
    shape : tuple of int or None
        Without the axis of examples; None is an axis whose length may differ.
    """

    dtype: str
    shape: tuple[int | None, ...] = ()


class Predictor(ABC):
    """A model as a function of arrays, which is sent to the processes that compute it.

    It is pickled, so it holds where to load the model from, not the model.

    Attributes
    ----------
    inputs, outputs : {name: ArraySpec}
    """

    inputs: dict[str, ArraySpec]
    outputs: dict[str, ArraySpec]

    @abstractmethod
    def load(self, outputs: list[str]) -> Callable[[Arrays], Arrays]:
        """Returns the function from {input: array (n, ...)} to {output: array (n, ...)}.

        It is called once in a process, and gives the `outputs` that are named.
        """
