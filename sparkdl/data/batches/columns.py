"""Checks and conversions of a batch's columns for a network, one whole column at a time."""

import math

import numpy as np

NO_MASK = -1.0  # fills the mask row of a record whose labels have no mask
STANDS_FOR_NONE = "one that stands for no label is ignore_label of the loss"
FILLING = "fill in missing numbers first, as Imputer does"
IGNORING = (
    "where labels are missing, fill in a number that is none, and give it to the loss as "
    "ignore_label"
)
NUMBERING = "number classes from 0 on, as StringIndexer does"


class Violation(Exception):
    """An unusable record: its row in the column, and its defect."""

    def __init__(self, row, text):
        super().__init__(text)
        self.row = int(row)


def feature_column(x, shape, what="features"):
    """Converts features to (n, *shape); uint8 is kept, other types become float32.

    Parameters
    ----------
    x : ndarray (n, ...)
        Records of the given shape, or flat.
    shape : tuple of int or None
        None stands for any size; records must then have that many axes.

    Raises
    ------
    Violation
        For the first record with a wrong size, axes in a different order, or a number that is not
        finite in float32.
    """
    return _numbers(x, shape, what, keep_bytes=True, for_nan=f"; {FILLING}")


def id_column(x, shape, what):
    """Converts ids to (n, *shape) int64; they must be integers >= -1, where -1 stands for none.

    Raises Violation.
    """
    if x.dtype.kind not in "iu":
        _require_numeric(x, what)
        raise Violation(0, f"{what} must be integers, as they are ids, got {x.dtype}")
    require_shape(x.shape[1:], shape, what)
    y = _as_int64(x, what).reshape(len(x), *shape)
    _refuse(y, y < -1, f"{what} must be at least 0, or -1 for none")
    return y


def whole_column(x, shape, what):
    """Converts whole numbers of any type to (n, *shape) int64 without loss.

    Raises Violation, also for floats so large that not every whole number is one: it may have been
    another before it became a float.
    """
    _require_numeric(x, what)
    require_shape(x.shape[1:], shape, what)
    y = x.reshape(len(x), *(x.shape[1:] if None in shape else shape))
    if y.dtype.kind == "f":
        _refuse(y, y != np.floor(y), f"{what} must be whole numbers, as the network takes int64")
        digits = min(np.finfo(y.dtype).nmant + 1, 63)
        rule = f"{what} must be below 2^{digits} as {y.dtype}, which rounds larger ones; give a "
        _refuse(y, np.abs(y) >= 2.0**digits, f"{rule}column of integers, which CSV has not")
    return _as_int64(y, what)


def _as_int64(x, what):
    """Converts whole numbers to int64; raises Violation for the first that is too large."""
    if x.dtype == np.uint64:
        _refuse(x, x > np.iinfo(np.int64).max, f"{what} must be below 2^63")
    return x.astype(np.int64, copy=False)


def require_vocabulary(x, count, what):
    """Raises Violation for the first number of a column that is not an id in [0, count)."""
    x = x.reshape(len(x), math.prod(x.shape[1:]))
    if x.dtype.kind == "f":
        _refuse(x, x != np.floor(x), f"{what} must be whole numbers, as they are ids")
    wrong = (x < 0) | (x >= count)
    _refuse(x, wrong, f"{what} must be ids in [0, {count})", vocabulary_for, ".0f")


def value_column(y, shape, what="label"):
    """Converts labels to (n, *shape) float32; scalars fit the shape (1,).

    Raises Violation.
    """
    return _numbers(y, shape, what, keep_bytes=False, for_nan=f"; {IGNORING}")


def class_column(y, classes, shape=(), ignored=None, what="label"):
    """Checks class labels and converts them to (n, *shape) int32.

    They must be whole numbers in [0, classes) or `ignored`, or exact one-hot vectors.

    Raises
    ------
    Violation
        For the first invalid label.
    """
    _require_numeric(y, what)
    n, places = len(y), math.prod(shape)
    y = y.reshape(n, math.prod(y.shape[1:]))
    if y.shape[1] == places:
        return _whole_numbers(y, classes, ignored, what).reshape(n, *shape)
    if y.shape[1] != places * classes:
        one = "a number" if places == 1 else f"{places} numbers"
        raise Violation(
            0, f"{what} must be {one} or one-hot of {classes}, got {y.shape[1]} numbers"
        )
    return _hot_positions(y.reshape(n, places, classes), what).reshape(n, *shape)


def is_int32(number):
    """Returns whether an integer fits into int32, the type of labels."""
    return -(2**31) <= number < 2**31


def parse_number(text, kind=float):
    """Returns the number in a text; ValueError for others, also for Python's "3_7", which is 37."""
    if "_" in text:
        raise ValueError(f"must be a number, got {text!r:.80}")
    return kind(text)


def one_hot_column(y, shape, what="label"):
    """Converts class labels to one-hot vectors (n, *shape) float32, along the last axis.

    Raises Violation.
    """
    *places, classes = shape
    return np.eye(classes, dtype=np.float32)[class_column(y, classes, tuple(places), None, what)]


def factor_column(x, shape, what):
    """Converts factors of examples to (n, *shape) float32; they must be >= 0.

    Raises Violation.
    """
    _require_numeric(x, what, "; make numbers of texts, as float does")
    y = _numbers(x, shape, what, keep_bytes=False, for_nan=f"; {FILLING}")
    _refuse(y, y < 0, f"{what} must be at least 0")
    return y


def mask_column(x, shape, what, of_labels=False):
    """Converts masks to (n, T) float32: 1 for a step, 0 for padding.

    With `of_labels`, a record without a mask has the row NO_MASK. Raises Violation.
    """
    y = _numbers(x, shape, what, keep_bytes=False)
    wrong = (y != 0) & (y != 1)
    if of_labels:
        wrong &= (y != NO_MASK).any(axis=1, keepdims=True)
    _refuse(y, wrong, f"{what} must be 0 or 1")
    return y


def _numbers(x, shape, what, keep_bytes, for_nan=""):
    _require_numeric(x, what)
    require_shape(x.shape[1:], shape, what)
    if None in shape:
        shape = x.shape[1:]
    if x.dtype == np.uint8 and keep_bytes:
        return x.reshape(len(x), *shape)
    with np.errstate(over="ignore"):
        y = x.astype(np.float32, copy=False).reshape(len(x), *shape)
    require_finite(y, what, for_nan)
    return y


def _require_numeric(x, what, cure_of_texts=""):
    if x.dtype.kind not in "biuf":
        row, value, place = _first_strange(x)
        cure = cure_of_texts if isinstance(value, str | bytes) else ""
        raise Violation(row, f"{what} must be numbers, got {value!r:.80}{place}{cure}")


def _first_strange(x):
    """Returns the row, the value and the text of the place of the first that is no number."""
    if x.dtype.kind != "O" or not x.size:
        return 0, x.flat[0].item() if x.size else x.dtype, ""
    numbers = (int, float, np.integer, np.floating, np.bool_)
    at = next((i for i, value in enumerate(x.flat) if not isinstance(value, numbers)), 0)
    width = max(1, x.size // max(1, len(x)))
    place = f" at {at % width}" if width > 1 else ""
    return at // width, x.flat[at], place


def require_shape(got, shape, what, row=0):
    """Raises Violation for record `row` unless the shape `got` can be read as `shape`."""
    if None in shape:
        return _require_free_shape(got, shape, what)
    if math.prod(got) != math.prod(shape):
        raise Violation(row, f"{what} must have {math.prod(shape)} numbers, got {math.prod(got)}")
    axes, expected = _long_axes(got), _long_axes(shape)
    if axes != expected and len(axes) == len(expected):
        cure = "; transpose them" if sorted(axes) == sorted(expected) else ""
        if len(axes) == 3 and axes == [*expected[1:], expected[0]]:
            cure = "; channels come first" + cure
        raise Violation(row, f"{what} must have the shape {shape}, or be flat, got {got}{cure}")


def fill_free_sizes(got, shape, classes, what):
    """Returns the shape of labels given with the shape `got`, where `shape` has free sizes.

    An axis of channels, of size 1, may be first, last or left out; that of one-hot vectors of
    `classes` is last. Raises Violation if `got` cannot be read as `shape`.
    """
    candidates = [got, got[1:]] if got[:1] == (1,) else [got]
    candidates += [got[:-1]] if got[-1:] in ((1,), (classes,)) else []
    candidates += [(1, *one) for one in candidates] if shape[0] == 1 else []
    for candidate in candidates:
        if _fits_free_shape(candidate, shape):
            return candidate
    return _require_free_shape(got, shape, what)


def _require_free_shape(got, shape, what):
    if not _fits_free_shape(got, shape):
        text = str(tuple("any" if n is None else n for n in shape)).replace("'", "")
        cure = "; ReshapeRecords before other transforms says what rows are"
        raise Violation(
            0, f"{what} must have the shape {text}, got {got}{cure if len(got) == 1 else ''}"
        )


def _fits_free_shape(got, shape):
    sizes = zip(got, shape, strict=False)
    return len(got) == len(shape) and all(n in (None, size) for size, n in sizes)


def _long_axes(shape):
    """Returns the axes of size other than 1.

    So (28, 28), (1, 28, 28) and (28, 28, 1) are the same.
    """
    return [size for size in shape if size != 1]


def require_finite(x, what, for_nan=""):
    """Raises Violation for the first number that is not finite; `for_nan` is the advice for NaN."""
    with np.errstate(all="ignore"):
        total = np.add.reduce(x, axis=None)  # one fast pass; finite only if all numbers are
    if np.isfinite(total):
        return
    strange = np.argwhere(~np.isfinite(x.reshape(len(x), -1)))
    if len(strange):
        row, place = strange[0]
        value = x.reshape(len(x), -1)[row, place]
        cure = for_nan if np.isnan(value) else ""
        raise Violation(row, f"{what} must be finite, got {value} at {place}{cure}")


def _whole_numbers(y, classes, ignored, what):
    if y.dtype.kind == "f":
        _refuse(y, y != np.floor(y), f"{what} must be a whole number", numbers_for)
    other = "" if ignored is None else f" or {ignored}"
    outside = ((y < 0) | (y >= classes)) & (True if ignored is None else y != ignored)
    _refuse(y, outside, f"{what} must be in [0, {classes}){other}", units_for)
    return y.astype(np.int32)


def _refuse(y, wrong, rule, cure=None, form=""):
    if wrong.any():
        row, *place = np.argwhere(wrong)[0]
        where = f" at {place[0]}" if wrong.ndim > 1 and wrong.shape[1] > 1 else ""
        value = y[(row, *place)]
        shown = format(value, form) if form else str(value)
        raise Violation(row, f"{rule}, got {shown}{where}{cure(value) if cure else ''}")


def numbers_for(label):
    """Returns the advice for a label that is no whole number; "" unless it is NaN."""
    return f"; {IGNORING}" if np.isnan(label) else ""


def units_for(label):
    """Returns the advice for a label out of range: classes may not begin at 0, or be too many."""
    if not np.isfinite(label):
        return ""
    if label < 0:
        return f"; {NUMBERING}; {STANDS_FOR_NONE}"
    return f"; {NUMBERING}, or raise Output.units to {int(label) + 1} at least"


def vocabulary_for(number):
    """Returns the advice for an id out of range: the vocabulary may be too small."""
    return f"; vocabulary_size must be {int(number) + 1} for it at least" if number >= 0 else ""


def _hot_positions(y, what):
    right = ((y == 0) | (y == 1)).all(axis=-1) & (y.sum(axis=-1) == 1)
    if not right.all():
        row, place = np.argwhere(~right)[0]
        raise Violation(
            row, f"{what} must be one-hot (one 1, else 0), got {y[row, place].tolist()}"
        )
    return y.argmax(axis=-1).astype(np.int32)
