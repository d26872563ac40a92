"""Geometry of sliding windows: their number along spatial axes, and their padding.

An option of a layer with several axes is one number for all of them or a tuple with one per axis.
"""

from math import ceil
from typing import Any

from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape


def per_axis(value: Any, axes: int) -> Any:
    """Returns one number per axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def sides(value: Any, axes: int) -> tuple[tuple[int, int], ...]:
    """Returns (before, after) per axis."""
    if axes == 1 and isinstance(value, tuple):
        return (value,)
    return tuple(per_axis(side, 2) for side in per_axis(value, axes))


def spans_of(size: Any, dilation: Any, axes: int) -> Shape:
    """Returns the extent of a window along each axis."""
    sizes = zip(per_axis(size, axes), per_axis(dilation, axes), strict=True)
    return tuple(gap * (k - 1) + 1 for k, gap in sizes)


def window_padding(
    space: Shape, size: Any, stride: Any, padding: Any, dilation: Any = 1, rounding: str = "floor"
) -> tuple[tuple[int, int], ...]:
    """Returns (before, after) per axis of `space`, the spatial lengths of an example.

    With rounding "ceil", the end is padded so that a last, partial window fits, unless it would
    begin outside the space and its padding. With padding "causal", all padding is in front, so that
    a window ends where it has its middle with "same".
    """
    axes, fit = len(space), ceil_padding if rounding == "ceil" else floor_padding
    spans, strides = spans_of(size, dilation, axes), per_axis(stride, axes)
    if padding == "same":
        return tuple(map(same_padding, space, spans, strides))
    amounts = [(k - 1, 0) for k in spans] if padding == "causal" else sides(padding, axes)
    return tuple(map(fit, space, spans, strides, amounts))


def takes_single_steps(size: Any, stride: Any, padding: Any, dilation: Any) -> bool:
    """Returns whether each step of a sequence has its own window, which sees no other step."""
    one = per_axis(size, 1) == per_axis(stride, 1) == (1,)
    return one and window_padding((1,), size, stride, padding, dilation) == ((0, 0),)


def same_padding(n: int, span: int, stride: int) -> tuple[int, int]:
    """Returns (before, after) for ceil(n / stride) windows; as in Keras, an odd one goes behind."""
    total = max((ceil(n / stride) - 1) * stride + span - n, 0)
    return total // 2, total - total // 2


def floor_padding(n: int, span: int, stride: int, padding: tuple[int, int]) -> tuple[int, int]:
    return padding


def ceil_padding(n: int, span: int, stride: int, padding: tuple[int, int]) -> tuple[int, int]:
    before, after = padding
    windows = ceil((n + before + after - span) / stride) + 1
    if (windows - 1) * stride >= n + before:
        windows -= 1
    return before, max(after, (windows - 1) * stride + span - n - before)


def windows(space: Shape, size: Any, stride: Any, padding: Any, dilation: Any = 1) -> Shape:
    """Returns the number of windows along each axis; `padding` is that of `window_padding`.

    Raises
    ------
    ShapeError
        If not even one window fits.
    """
    axes, kind = len(space), {1: "sequences", 2: "images", 3: "volumes"}[len(space)]
    spans = spans_of(size, dilation, axes)
    lengths = zip(space, spans, per_axis(stride, axes), padding, strict=True)
    counts = tuple((n + sum(p) - k) // s + 1 for n, k, s, p in lengths)
    if min(counts) < 1:
        raise ShapeError(f"a window of {spans} does not fit into {kind} of {tuple(space)}")
    return counts
