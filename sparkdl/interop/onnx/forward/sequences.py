"""Sequences (lists of arrays) and optional values (None)."""

import numpy as np

from sparkdl.interop.onnx.forward.shapes import whole_numbers


def insert(sequence, x, position=None):
    at = len(sequence) if position is None else int(np.reshape(position, ()))
    at = at + len(sequence) if at < 0 else at
    return [*sequence[:at], x, *sequence[at:]]


def erase(sequence, position=None):
    at = len(sequence) - 1 if position is None else int(np.reshape(position, ()))
    at = at + len(sequence) if at < 0 else at
    return sequence[:at] + sequence[at + 1 :]


def join(sequence, *, axis, new_axis=0):
    return np.stack(sequence, axis) if new_axis else np.concatenate(sequence, axis)


def split_to_sequence(x, split=None, *, axis=0, keepdims=1):
    """Returns parts of the given lengths, of one length, or of length 1."""
    n = x.shape[axis]
    if split is None:
        parts = np.split(x, range(1, n), axis)
        return parts if keepdims else [np.squeeze(part, axis) for part in parts]
    if split.ndim == 0:
        return np.split(x, range(int(split), n, int(split)), axis)
    return np.split(x, np.cumsum(whole_numbers(split))[:-1], axis)


SEQUENCES = {
    "ConcatFromSequence": join,
    "Optional": lambda x=None, *, type=None: x,
    "OptionalGetElement": lambda x: x,
    "OptionalHasElement": lambda x=None: np.array(x is not None),
    "SequenceAt": lambda sequence, at: sequence[int(np.reshape(at, ()))],
    "SequenceConstruct": lambda *inputs: list(inputs),
    "SequenceEmpty": lambda *, dtype=None: [],
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": lambda sequence: np.array(len(sequence), np.int64),
    "SplitToSequence": split_to_sequence,
}
