"""Labels and predictions of all examples, gathered for metrics that are functions of them."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sparkdl.errors import DataError

LIMIT = 2**28  # bytes of labels and predictions together, in any process


class GatheredScores:
    """Labels and predictions of examples; those of executors add up, to at most `limit` bytes.

    Beyond the limit all are dropped, in every process: `is_exceeded`. Whether this happens depends
    only on the examples of all parts, not on their order.

    Parameters
    ----------
    limit : int, optional
        None: 268,435,456 bytes.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = LIMIT if limit is None else limit
        self.is_exceeded, self.nbytes = False, 0
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []  # labels, predictions

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        """Keeps copies of labels (n, ...) and predictions (n, ...).

        Raises DataError for examples of another shape than those before.
        """
        if not self.is_exceeded and len(labels):
            self._take(np.array(labels), np.array(predictions))

    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns all labels (n, ...) and all predictions (n, ...), in the order of `add`.

        There must be some.
        """
        labels, predictions = map(np.concatenate, zip(*self._parts, strict=True))
        self._parts = [(labels, predictions)]
        return self._parts[0]

    def arrays(self) -> list[np.ndarray]:
        """Returns three arrays: whether the limit was exceeded, labels, predictions."""
        flag = np.array([self.is_exceeded], np.int64)
        return [flag, *(self.both() if self._parts else (np.zeros(0), np.zeros(0)))]

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Self:
        """Returns scores with this limit from the result of `arrays`; ValueError if it is none."""
        flag, labels, predictions = arrays
        if flag.shape != (1,) or len(labels) != len(predictions):
            raise ValueError("as many labels as predictions")
        result = type(self)(self.limit)
        if flag[0]:
            result._exceed()
        result.add(labels, predictions)
        return result

    def __add__(self, other: "GatheredScores") -> "GatheredScores":
        result = GatheredScores(self.limit)
        if self.is_exceeded or other.is_exceeded:
            result._exceed()
        for part in (*self._parts, *other._parts):
            if not result.is_exceeded:
                result._take(*part)
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {"limit": self.limit, "arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.limit = state["limit"]
        vars(self).update(vars(self.with_arrays(state["arrays"])))

    def _take(self, labels, predictions):
        if self._parts:
            check_shapes(self._parts[0], (labels, predictions))
        self._parts.append((labels, predictions))
        self.nbytes += labels.nbytes + predictions.nbytes
        if self.nbytes > self.limit:
            self._exceed()

    def _exceed(self):
        self.is_exceeded, self.nbytes, self._parts = True, 0, []


def check_shapes(before, now):
    """Raises DataError unless examples have the shapes of those before; both are pairs of arrays
    of labels and predictions.
    """
    known, found = ([array.shape[1:] for array in pair] for pair in (before, now))
    if known != found:
        raise DataError(
            "metrics that are functions need labels and predictions of one shape, got examples of "
            f"{known} and {found}; give subclasses of Evaluation"
        )
