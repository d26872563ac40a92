"""Sequences of different lengths in one array, padded at the end, with a mask of real steps."""

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
    """A column of records of different lengths, concatenated.

    Parameters
    ----------
    values : ndarray (total, ...)
    lengths : ndarray (n,)
        Number of values in each record.
    """

    values: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def of(cls, arrays):
        """Builds a Ragged from one array (length, ...) per record."""
        lengths = np.array([len(array) for array in arrays], np.int64)
        return cls(np.concatenate(arrays), lengths)

    @classmethod
    def even(cls, x):
        """Builds a Ragged from an array (n, length, ...) or (n,)."""
        x = x[:, np.newaxis] if x.ndim == 1 else x
        return cls(x.reshape(-1, *x.shape[2:]), np.full(len(x), x.shape[1]))

    def as_array(self):
        """Returns an array (n, length, ...) if all records have the same length, else None."""
        if not len(self) or (self.lengths != self.lengths[0]).any():
            return None
        return self.values.reshape(len(self), self.lengths[0], *self.values.shape[1:])

    def pad(self, steps, shape, what):
        """Returns an array (n, steps, size) padded with zeros, and its mask (n, steps) float32.

        A record is a sequence of steps of `shape`, with `size` numbers each, or all these numbers
        in a flat row. Raises Violation for other records, and for more than `steps` steps.
        """
        size = math.prod(shape)
        in_rows = size == 1 and (self.lengths == 1).all()  # shape (1, T) has no other meaning
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
        """Raises Violation unless values with a step axis have steps of `shape`, or flat ones."""
        if not self.lengths.any():
            return
        got, size = self.values.shape[1:], math.prod(shape)
        numbers, row = math.prod(got), int(np.argmax(self.lengths > 0))
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
    """Describes the requirement on sequences whose steps have `size` numbers."""
    return f"{what} must have steps of {size} number{'' if size == 1 else 's'}"


def pad_sequences(x, shape, what, also=None):
    """Pads sequences of a raw column to `shape`; returns (n, T, ...) and the mask (n, T).

    Parameters
    ----------
    x : ndarray (n, ...) or Ragged
    shape : (T, ...)
    also : int or None
        Alternative number of values per record: that of one-hot vectors.

    Raises
    ------
    Violation
        For the first record that is not a sequence of at most T steps.
    """
    whole = x.as_array() if isinstance(x, Ragged) else x
    if whole is not None and math.prod(whole.shape[1:]) in (math.prod(shape), also):
        return whole, np.ones((len(whole), shape[0]), np.float32)
    x = x if isinstance(x, Ragged) else Ragged.even(x)
    return x.pad(shape[0], shape[1:], what)


def require_steps_of_labels(x, y, what):
    """Raises Violation for the first record with more labels than steps.

    Fewer labels are fine: the other steps then have none.

    Parameters
    ----------
    x, y : ndarray (n, T)
        Masks of the padded features and labels; a row of NO_MASK means T labels.
    """
    steps, labels = x.sum(axis=1), np.abs(y).sum(axis=1)
    wrong = labels > steps
    if wrong.any():
        row = int(np.argmax(wrong))
        text = f"label must have no more steps than {what}, {steps[row]:.0f}"
        raise Violation(row, f"{text}, got {labels[row]:.0f}")


def pad(sequences: Sequence[Any], steps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Pads sequences of different lengths to one array and a mask, for in-memory sources.

    Parameters
    ----------
    sequences : list of array-like (length, ...)
    steps : int or None
        Number of steps in the result; None: that of the longest sequence.

    Returns
    -------
    x : ndarray (n, steps, ...), with zeros after each sequence
    mask : float32 ndarray (n, steps), 1 for steps and 0 for padding

    Raises
    ------
    DataError
        Without sequences, and for the first one that is longer than `steps` or has steps of
        another shape than the first one.
    """
    arrays = [np.asarray(one) for one in sequences]
    if not arrays:
        raise DataError("pad needs one sequence or more, got none")
    inner = arrays[0].shape[1:]
    for i, array in enumerate(arrays):
        if not array.ndim or array.shape[1:] != inner:
            wanted = ", ".join(map(str, ("length", *inner)))
            raise DataError(f"sequence {i}: must be of shape ({wanted}), got {array.shape}")
    steps = max(map(len, arrays)) if steps is None else steps
    try:
        x, mask = Ragged.of(arrays).pad(steps, inner, "a sequence")
    except Violation as offence:
        raise DataError(f"sequence {offence.row}: {offence}") from None
    return x.reshape(len(arrays), steps, *inner), mask


def without_full_rows(mask):
    """Returns a generated label mask with NO_MASK in the rows of records that were not padded.

    Such records have no own mask: the network knows which of their steps count.
    """
    return np.where(mask.all(axis=1, keepdims=True), np.float32(NO_MASK), mask)


def without_full_masks(batch, masks, of_labels=()):
    """Returns the batch without masks that have no effect, which makes the network faster.

    They are masks of `masks` without padding, and masks of `of_labels` with only NO_MASK. A label
    mask of ones is kept: it says that all steps count, whatever the features' mask says.
    """
    idle = dict.fromkeys(masks, 1) | dict.fromkeys(of_labels, NO_MASK)
    names = [n for n, x in idle.items() if n in batch.columns and (batch.columns[n] == x).all()]
    columns = {name: column for name, column in batch.columns.items() if name not in names}
    return Batch(columns=columns, ids=batch.ids) if names else batch
