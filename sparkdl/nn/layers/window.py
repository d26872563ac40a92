"""Windows that slide over images: how many there are, and how much padding they need."""

from math import ceil

from sparkdl.errors import ShapeError
from sparkdl.nn.checks import is_integer, is_integers, pair

PADDING = "an integer >= 0, a pair of them, ((top, bottom), (left, right)), or 'same'"


def is_padding(value):
    """Whether `value` says how much padding an image gets."""
    if value == "same" or is_integer(value, 0) or is_integers(value, 0, 2):
        return True
    two = isinstance(value, tuple) and len(value) == 2
    return two and all(is_integers(side, 0, 2) for side in value)


def window_padding(image, size, stride, padding, dilation=1, rounding="floor"):
    """((top, bottom), (left, right)) for images of `image` (height, width).

    With rounding "ceil", enough is added at the bottom and right that a last, partial window fits,
    unless it would begin outside the image and its padding.
    """
    sizes, strides, gaps = pair(size), pair(stride), pair(dilation)
    sides = ("same", "same") if padding == "same" else [pair(side) for side in pair(padding)]
    spans = [gap * (k - 1) + 1 for k, gap in zip(sizes, gaps)]
    fit = ceil_padding if rounding == "ceil" else floor_padding
    axes = zip(image, spans, strides, sides)
    return tuple(fit(n, k, s, same_padding(n, k, s) if p == "same" else p) for n, k, s, p in axes)


def same_padding(n, span, stride):
    """(before, after) that give ceil(n / stride) windows, the odd one behind; as Keras has it."""
    total = max((ceil(n / stride) - 1) * stride + span - n, 0)
    return total // 2, total - total // 2


def floor_padding(n, span, stride, sides):
    return sides


def ceil_padding(n, span, stride, sides):
    before, after = sides
    windows = ceil((n + before + after - span) / stride) + 1
    if (windows - 1) * stride >= n + before:
        windows -= 1
    return before, max(after, (windows - 1) * stride + span - n - before)


def windows(image, size, stride, padding, dilation=1):
    """(rows, columns) of windows; `padding` as `window_padding` gives it.

    Raises
    ------
    ShapeError
        If not even one window fits.
    """
    axes = zip(image, pair(size), pair(stride), padding, pair(dilation))
    counts = tuple((n + sum(p) - gap * (k - 1) - 1) // s + 1 for n, k, s, p, gap in axes)
    if min(counts) < 1:
        spans = tuple(gap * (k - 1) + 1 for k, gap in zip(pair(size), pair(dilation)))
        raise ShapeError(f"a window of {spans} does not fit into images of {tuple(image)}")
    return counts
