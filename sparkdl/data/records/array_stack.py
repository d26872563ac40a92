"""Stacking of values of equal shape, of any kind that holds numbers, into one array."""

import math
from decimal import Decimal

import numpy as np

from sparkdl.data.batches.columns import Violation

WHOLE = (int, np.integer, np.bool_)
NUMBERS = (Decimal, float, np.floating, *WHOLE)


def stack(values, what, dtype=None):
    """Stacks n values of one shape into an array (n, ...).

    Parameters
    ----------
    values : list
        Numbers, also decimals, nested lists, numpy arrays, scipy sparse rows, objects with
        `toArray` (pyspark vectors), or bytes; one kind in a list.
    dtype : numpy dtype or None
        Type to which arrays are converted, unless all are uint8.

    Raises
    ------
    Violation, or any error of the values' own classes
        If the values cannot form one array. For a list of one value, the message is fit for users.
    """
    first = values[0]
    if isinstance(first, bytes | bytearray):
        return _stack_bytes(values)
    if isinstance(first, np.ndarray):
        return _stack_arrays(values, what, dtype)
    if hasattr(first, "toArray"):
        return _stack_arrays([value.toArray() for value in values], what, dtype)
    if hasattr(first, "toarray"):
        return _stack_arrays([value.toarray() for value in values], what, dtype)
    return _stack_lists(values, what)


def _stack_bytes(values):
    length = _same(map(len, values))
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), length)


def _stack_arrays(values, what, dtype):
    if any(map(np.ma.is_masked, values)):  # numpy gives what lies beneath
        raise Violation(
            0, f"{what} must be numbers, got masked ones; filled(0), say, fills them in"
        )
    shape = _same(value.shape for value in values)
    dtypes = {value.dtype for value in values}
    if not all(dtype.kind in "biuf" for dtype in dtypes):
        raise Violation(0, f"{what} must be numbers, got an array of {dtypes.pop()}")
    dtype = None if dtypes == {np.dtype(np.uint8)} else dtype
    with np.errstate(over="ignore"):  # infinity is refused later as not finite
        flat = np.concatenate(values, axis=None, dtype=dtype, casting="unsafe")
    return flat.reshape(len(values), *shape)


def _stack_lists(values, what):
    try:
        return _without_decimals(np.array(values))
    except ValueError:
        text = f"{what} must be numbers in rows of one length, got {type(values[0]).__name__}"
        raise Violation(0, f"{text} {values[0]!r:.80}") from None


def _without_decimals(x):
    """Returns decimals as a DataFrame's become: int64 if all are whole and fit, or else float64.

    Numbers beyond float64 become infinite. Objects among them that are no numbers, such as None,
    stay, in an array of objects.
    """
    if x.dtype.kind != "O" or not any(isinstance(value, Decimal) for value in x.flat):
        return x
    dtype, convert = (np.int64, int) if all(map(_is_whole, x.flat)) else (np.float64, _as_float)
    known = [isinstance(value, NUMBERS) for value in x.flat]
    plain = [convert(value) if is_one else value for value, is_one in zip(x.flat, known)]
    return np.array(plain, dtype if all(known) else object).reshape(x.shape)


def _is_whole(value):
    """Returns whether int64 holds a number exactly, and its type shows no digits of a fraction."""
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.as_tuple().exponent >= 0
        return whole and -(2**63) <= value < 2**63
    return isinstance(value, WHOLE) and -(2**63) <= int(value) < 2**63


def _as_float(value):
    try:
        return float(value)
    except OverflowError:  # of integers; decimals become infinite
        return math.inf if value > 0 else -math.inf


def _same(things):
    distinct = set(things)
    if len(distinct) > 1:
        raise Violation(0, f"values of one shape expected, got {distinct}")
    return distinct.pop()
