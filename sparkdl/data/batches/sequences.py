"""Sequences of different length in one array: padded at the end, with a mask of the real steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.columns import NO_MASK, Violation, require_shape
from sparkdl.errors import DataError


@dataclass(frozen=True, eq=False)
class Ragged:
    """A column of records of different length, one behind the other.

    Parameters
    ----------
    values : ndarray (total, ...)
    lengths : ndarray (n,)
        How many of them each record has.
    """

    values: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def of(cls, arrays):
        """Makes sequences from one array (length, ...) a record."""
        lengths = np.array([len(array) for array in arrays], np.int64)
        return cls(np.concatenate(arrays), lengths)

    @classmethod
    def even(cls, x):
        """Makes sequences from an array (n, length, ...) or (n,)."""
        x = x[:, np.newaxis] if x.ndim == 1 else x
        return cls(x.reshape(-1, *x.shape[2:]), np.full(len(x), x.shape[1]))

    def as_array(self):
        """Returns an array (n, length, ...) where all records have one length, None elsewhere."""
        if not len(self) or (self.lengths != self.lengths[0]).any():
            return None
        return self.values.reshape(len(self), self.lengths[0], *self.values.shape[1:])

    def pad(self, steps, shape, what):
        """Returns an array (n, steps, size), padded with zeros, and a mask (n, steps) float32.

        A record is steps of `shape`, which has `size` numbers: each by itself, or all numbers one
        behind the other. Raises Violation for one that is not, or has more than `steps`.
        """
        size = math.prod(shape)
        in_rows = size == 1 and (self.lengths == 1).all()  # (1, T): no other reading of it
        if self.values.ndim > 1 and not in_rows:
            self._require_steps(steps, shape, what)
        counts = self.lengths * math.prod(self.values.shape[1:])
        self._refuse(counts % size != 0, counts, steps_of(size, what))
        lengths = counts // size
        self._refuse(lengths > steps, lengths, f"{what} must have at most {steps} steps")
        present = np.arange(steps) < lengths[:, np.newaxis]
        y = np.zeros((len(self), steps, size), self.values.dtype)
        y[present] = self.values.reshape(-1, size)
        return y, present.astype(np.float32)

    def _require_steps(self, steps, shape, what):
        """Raises Violation unless what has an axis of steps has steps of `shape`, or flat ones."""
        got, size = self.values.shape[1:], math.prod(shape)
        numbers, row = math.prod(got), int(np.argmax(self.lengths > 0))
        if not self.lengths.any():
            return
        if numbers != size:
            turned = numbers <= steps and (self.lengths == size).all()
            cure = "; transpose them" if turned else ""
            raise Violation(row, f"{steps_of(size, what)}, got {numbers}{cure}")
        require_shape(got, shape, f"steps of {what}", row)

    @staticmethod
    def _refuse(wrong, actual, rule):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise Violation(row, f"{rule}, got {actual[row]}")


def steps_of(size, what):
    """Returns what is asked of sequences whose steps have `size` numbers."""
    return f"{what} must have steps of {size} number{'' if size == 1 else 's'}"


def pad_sequences(x, shape, what, also=None):
    """Returns a raw column as (n, T, ...) of sequences padded to `shape`, and their mask (n, T).

    Parameters
    ----------
    x : ndarray (n, ...) or Ragged
    shape : (T, ...)
    also : int or None
        As many numbers a record will do too: classes as one-hot vectors.

    Raises
    ------
    Violation
        For the first record that is no sequence of at most T steps.
    """
    whole = x.as_array() if isinstance(x, Ragged) else x
    if whole is not None and math.prod(whole.shape[1:]) in (math.prod(shape), also):
        return whole, np.ones((len(whole), shape[0]), np.float32)
    x = x if isinstance(x, Ragged) else Ragged.even(x)
    return x.pad(shape[0], shape[1:], what)


def require_steps_of_labels(x, y, what):
    """Raises Violation for the first record with more labels than steps.

    Fewer say that the other steps have none.

    Parameters
    ----------
    x, y : ndarray (n, T)
        The masks of features and labels that were padded; rows of NO_MASK are those of T labels.
    """
    steps, labels = x.sum(axis=1), np.abs(y).sum(axis=1)
    wrong = labels > steps
    if wrong.any():
        row = int(np.argmax(wrong))
        text = f"label must have no more steps than {what}, {steps[row]:.0f}"
        raise Violation(row, f"{text}, got {labels[row]:.0f}")


def pad(sequences: Sequence[Any], steps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Pads sequences of different length to one array and a mask, for sources in memory.

    Parameters
    ----------
    sequences : list of array-like (length, ...)
    steps : int or None
        Steps of the result; None: as many as the longest has.

    Returns
    -------
    x : ndarray (n, steps, ...), zeros behind each sequence
    mask : float32 ndarray (n, steps), 1 where a step is and 0 behind

    Raises
    ------
    DataError
        For the first sequence that is longer than `steps`.
    """
    arrays = [np.asarray(one) for one in sequences]
    steps = max(map(len, arrays)) if steps is None else steps
    inner = arrays[0].shape[1:]
    try:
        x, mask = Ragged.of(arrays).pad(steps, inner, "a sequence")
    except Violation as offence:
        raise DataError(f"sequence {offence.row}: {offence}") from None
    return x.reshape(len(arrays), steps, *inner), mask


def without_full_rows(mask):
    """Returns a mask of labels that was made, with NO_MASK for records that were not padded.

    Those have no mask of their own: which of their steps count, the network knows.
    """
    return np.where(mask.all(axis=1, keepdims=True), np.float32(NO_MASK), mask)


def without_full_masks(batch, masks, of_labels=()):
    """Returns the batch less the masks that say nothing: a network is faster then.

    They are those of `masks` that leave nothing out, and those `of_labels` that no record has; a
    full one of labels says that all steps count, whatever the features' mask says.
    """
    idle = dict.fromkeys(masks, 1) | dict.fromkeys(of_labels, NO_MASK)
    names = [n for n, x in idle.items() if n in batch.columns and (batch.columns[n] == x).all()]
    columns = {name: column for name, column in batch.columns.items() if name not in names}
    return Batch(columns=columns, ids=batch.ids) if names else batch
