"""Questions that options are asked before they are accepted. A bool is not a number here."""

from math import isfinite


def is_integer(value, least=None):
    """Whether `value` is an int, and at least `least` where that is given."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and (least is None or value >= least)


def is_number(value):
    """Whether `value` is a finite int or float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def is_positive(value):
    """Whether `value` is a finite number above 0."""
    return is_number(value) and value > 0


def is_not_negative(value):
    """Whether `value` is a finite number, 0 or above."""
    return is_number(value) and value >= 0


def is_share(value, most_included=False):
    """Whether `value` is in [0, 1), or in [0, 1]."""
    return is_number(value) and (0 <= value < 1 or (most_included and value == 1))


def is_integers(value, least=None, length=None):
    """Whether `value` is a tuple of ints, each at least `least`, `length` of them."""
    if not isinstance(value, tuple) or (length is not None and len(value) != length):
        return False
    return all(is_integer(item, least) for item in value)
